import Foundation
import JSON
import TestSupport
import Testing

/// Malicious webhook responses lead to a Parse error and leave no partial changes.
@Suite struct HostileAnswerTests {
    private static let long = String(repeating: "x", count: 300)

    /// Objects returned by a beforeSave webhook.
    private static let objects: [JSONValue] = [
        ["ACL": 5], ["ACL": ["*": 5]], ["ACL": ["*": ["read": "x"]]], ["ACL": ["": ["read": true]]], ["ACL": []],
        ["objectId": 5, "a": 1], ["objectId": ["a": 1], "a": 1], ["createdAt": ["__type": "Date"], "a": 1],
        ["a": ["__type": "Pointer"]], ["a": ["__type": "Pointer", "className": 5, "objectId": 5]],
        ["a": ["__type": "Date", "iso": "tomorrow"]], ["a": ["__type": "GeoPoint", "latitude": 1e9, "longitude": 0]],
        ["a": ["__type": "File"]], ["a": ["__type": "Relation", "className": "x y"]], ["a": ["__type": "Bytes"]],
        ["a": ["__op": "Increment", "amount": "x"]], ["a": ["__op": "Nothing"]], ["a": ["__op": 5]],
        ["a": ["__op": "Add", "objects": 5]], ["a": ["__op": "AddRelation", "objects": [5]]],
        ["a": ["__op": "Batch", "ops": [["__op": "Batch", "ops": 5]]]],
        ["a-b": 1], ["": 1], [Name(long): 1], ["_wperm": ["*"]], ["a.b": 1, "a": 1], ["a..b": 1], [".": 1], ["é": 1],
        ["a\"; DROP TABLE \"Song\"; --": 1], ["a": "x\u{0}y"], ["a\u{0}b": 1], ["a": ["x\u{0}y": 1]],
        ["a": .number(1e308)], ["a": .number(-0.0)], ["__type": "Object", "className": "_User", "a": 1],
        ["__proto__": ["a": 1]], ["constructor": 1],
    ]

    @Test("No object returned by a beforeSave webhook causes a server error or a partial change")
    func beforeSave() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let id = try await server.create("Song", ["a": 1])
                try await hooks.trigger("beforeSave", "Song", on: server) { _ in .nothing }
                for object in Self.objects {
                    hooks.on("Song.beforeSave") { _ in .success(object) }
                    let before = try await server.find("Song", ["count": 1, "limit": 0], as: .master)["count"]
                    let created = try await server.send("POST", "/classes/Song", ["b": 1])
                    #expect(created.status < 500, "\(object): \(created.text)")
                    if created.status != 201 {
                        #expect(created.code != nil || created.error != nil, "\(object): \(created.text)")
                        let after = try await server.find("Song", ["count": 1, "limit": 0], as: .master)["count"]
                        #expect(before == after, "\(object)")
                    }
                    let updated = try await server.send("PUT", "/classes/Song/\(id)", ["b": 1])
                    #expect(updated.status < 500, "\(object): \(updated.text)")
                }
                hooks.on("Song.beforeSave") { _ in .nothing }
                #expect(try await server.send("PUT", "/classes/Song/\(id)", ["c": 1], as: .master).status == 200)
                let fields = try await server.send("GET", "/schemas/Song", as: .master)["fields"]?.objectValue
                #expect(fields?.keys.contains { $0.text.contains("DROP") || $0.text.isEmpty } == false)
            }
        }
    }

    /// Queries returned by a beforeFind webhook.
    private static let queries: [JSONValue] = [
        ["where": 5], ["where": ["$or": 5]], ["where": ["a": ["$regex": "("]]], ["where": ["a": ["$nosuch": 1]]],
        ["where": ["x\u{0}": 1]], ["where": ["a": "x\u{0}y"]], ["where": ["a\"b": 1]], ["limit": "x"], ["limit": -5],
        ["limit": 1e300], ["skip": -1], ["skip": "x"], ["order": 5], ["order": "a\"b"], ["include": 5], ["keys": 5],
        ["include": "a.b.c.d.e.f.g.h.i.j.k"], ["count": "x"], ["where": ["$relatedTo": 5]], ["distinct": 5],
        ["where": ["a": ["$inQuery": ["className": "No Such", "where": [:]]]]], ["pipeline": 5], ["nosuch": 5],
        ["where": ["$where": "1"]], ["where": ["a": ["$select": 5]]], ["explain": "x"], ["hint": ["a": 1]],
        [["objectId": 5]], [["className": 5]], [["className": "No Such", "objectId": "a"]], [["__type": "Object"]],
        [["__type": 5, "a": ["__op": "Delete"]]], [["ACL": 5]], [["createdAt": 5]], [5], [.null], "x", 5, true,
    ]

    @Test("No query or list returned by a find webhook causes a server error")
    func finds() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let id = try await server.create("Song", ["a": 1])
                for event in ["beforeFind", "afterFind"] {
                    try await hooks.trigger(event, "Song", on: server) { _ in .nothing }
                    for query in Self.queries {
                        hooks.on("Song.\(event)") { _ in .success(query) }
                        for path in ["/classes/Song?include=b&count=1", "/classes/Song/\(id)"] {
                            let answer = try await server.send("GET", path)
                            #expect(answer.status < 500, "\(event) \(path) \(query): \(answer.text)")
                        }
                    }
                    hooks.on("Song.\(event)") { _ in .nothing }
                    #expect(try await server.find("Song").results.count == 1)
                }
            }
        }
    }

    /// Raw responses of a function webhook.
    private static let texts: [(name: String, text: String)] = [
        ("unterminated nesting", "{\"success\":" + String(repeating: "[", count: 100_000)),
        ("deeply nested array", String(repeating: "[", count: 50_000) + String(repeating: "]", count: 50_000)),
        ("unpaired surrogate", "{\"success\":\"\\ud800\"}"), ("two values", "{} {}"),
        (
            "huge code",
            "{\"error\":{\"code\":1e300,\"message\":\"x\"}}"
        ),
        ("fractional code", "{\"error\":{\"code\":1.5,\"message\":\"x\"}}"),
        ("code as text", "{\"error\":{\"code\":\"101\",\"message\":\"x\"}}"),
        ("message as an object", "{\"error\":{\"code\":141,\"message\":{\"a\":1}}}"),
        ("duplicate member", "{\"error\":\"a\",\"error\":\"b\"}"), ("infinite number", "{\"success\":1e999}"),
    ]

    @Test("Malformed function responses never cause a server error")
    func functions() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("f", on: server) { _ in .nothing }
                for (name, text) in Self.texts {
                    hooks.on("f") { _ in .text(text) }
                    let answer = try await server.send("POST", "/functions/f", [:])
                    #expect(answer.status < 500, "\(name): \(answer.text)")
                    #expect((answer.status == 200) == (answer.code == nil), "\(name): \(answer.text)")
                }
                hooks.on("f") { _ in .success(1) }
                #expect(try await server.send("POST", "/functions/f", [:])["result"] == 1)
            }
        }
    }

    @Test("Hook names with NUL characters, without letters or of excessive length cause no server error")
    func names() async throws {
        try await TestServer.run { server in
            let names = ["a\u{0}b", "\u{0}", "", " ", "'", "\"", "a/b", "..", Self.long, "é", "e\u{301}", "__proto__"]
            for name in names {
                let path = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                let url = JSONValue.string("http://127.0.0.1:9/")
                let calls: [(String, String, JSONValue)] = [
                    ("POST", "/hooks/functions", ["functionName": .string(name), "url": url]),
                    (
                        "POST", "/hooks/triggers",
                        ["className": .string(name), "triggerName": "beforeSave", "url": url]
                    ),
                    ("PUT", "/hooks/functions/\(path)", ["url": url]),
                    ("PUT", "/hooks/triggers/\(path)/beforeSave", ["url": url]),
                    ("GET", "/hooks/functions/\(path)", .null), ("GET", "/hooks/triggers/\(path)/afterSave", .null),
                    ("POST", "/functions/\(path)", [:]), ("POST", "/jobs/\(path)", [:]),
                    ("PUT", "/hooks/functions/\(path)", ["__op": "Delete"]),
                ]
                for (method, path, body) in calls {
                    let answer = try await server.send(method, path, body.isNull ? nil : body, as: .master)
                    #expect(answer.status < 500, "\(method) \(path): \(answer.text)")
                }
            }
        }
    }

    @Test("Functions with canonically equivalent names are distinct")
    func lookAlikes() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server async throws in
                let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
                hooks.on("one") { _ in .success(1) }
                hooks.on("two") { _ in .success(2) }
                func declare(_ name: String, _ hook: String) async throws -> TestAnswer {
                    let body: JSONValue = ["functionName": .string(name), "url": .string(hooks.url(hook))]
                    return try await server.send("POST", "/hooks/functions", body, as: .master)
                }
                func call(_ name: String) async throws -> TestAnswer {
                    let path = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                    return try await server.send("POST", "/functions/\(path)", [:])
                }
                #expect(try await declare(composed, "one").status == 200)
                #expect(try await call(decomposed).code == 141)
                #expect(try await declare(decomposed, "two").status == 200)
                #expect(try await call(composed)["result"] == 1)
                #expect(try await call(decomposed)["result"] == 2)
            }
        }
    }
}
