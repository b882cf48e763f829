import App
import JSON
import Operations
import ParseModel
import TestSupport
import Testing

/// Short writes whose cost grew with a power of a number in them.
@Suite struct SecurityWriteGrowthTests {
    /// An upper bound for linear cost. Before the fixes, each request took much longer.
    private static let bound = Duration.seconds(10)

    private struct Onlooker: TriggerSet {
        func trigger(for event: TriggerEvent, of className: Name) -> Trigger? {
            guard event == .beforeSave || event == .afterSave else { return nil }
            return { _ in TriggerAnswer() }
        }
    }

    @Test("A write to list index 9999 pads the list quickly, on create and update")
    func places() async throws {
        try await TestServer.run { server in
            let began = ContinuousClock.now
            let id = try await server.create("Song", ["list": [1]])
            let changed = try await server.send("PUT", "/classes/Song/\(id)", ["list.9999": 1])
            #expect(changed.status == 200, "\(changed.text)")
            let other = try await server.create("Song", ["list.9999": 1])
            for id in [id, other] {
                let list = try await server.send("GET", "/classes/Song/\(id)")["list"]?.arrayValue
                #expect(list?.count == 10_000)
                #expect(list?.last == 1)
            }
            #expect(ContinuousClock.now - began < Self.bound)
        }
    }

    @Test("Dotted keys can't fill lists with masses of nulls", arguments: ["create", "update", "batch"])
    func nulls(way: String) async throws {
        var extensions = ServerExtensions()
        extensions.backend.triggers = Onlooker()
        try await TestServer.run(extensions: extensions) { server in
            let id = try await server.create("Song", ["list": [1]])
            let many = JSONObject(uniqueKeysWithValues: (0..<90).map { (Name("a\($0).9999"), 1) })
            let rising = JSONObject(uniqueKeysWithValues: (1...900).map { (Name("list.\($0 * 1_000)"), 1) })
            for body in [["list.799999": 1], many, rising, ["o.list.799999": 1, "list.-999999": 1]] as [JSONObject] {
                let answer: TestAnswer
                switch way {
                case "create": answer = try await server.send("POST", "/classes/Song", .object(body))
                case "update": answer = try await server.send("PUT", "/classes/Song/\(id)", .object(body))
                default:
                    let call: JSONValue = ["method": "POST", "path": "/parse/classes/Other", "body": .object(body)]
                    answer = try await server.send("POST", "/batch", ["requests": [call, call]])
                }
                #expect(answer.text.utf8.count < 50_000)
            }
            let rows = try await server.texts(
                "SELECT max(octet_length(to_jsonb(s)::text))::text FROM \"Song\" s")
            #expect(rows.compactMap { Int($0) }.allSatisfy { $0 < 100_000 }, "\(rows)")
        }
    }

    @Test(
        "Rejects overlong class names in pointers and relations and keeps them out of the schema",
        arguments: ["Pointer", "Relation"])
    func targets(type: String) async throws {
        try await TestServer.run { server in
            let long = JSONValue.string(String(repeating: "A", count: 1_000_000))
            let value: JSONValue = ["__type": .string(type), "className": long, "objectId": "x"]
            for className in ["Song", "Fresh"] {
                let answer = try await server.send("POST", "/classes/\(className)", ["title": "a", "to": value])
                #expect(answer.code == 103 && answer.text.utf8.count < 2_000, "\(answer.text.prefix(300))")
            }
            if type == "Relation" {
                let added: JSONValue = [
                    "__op": "AddRelation", "objects": [["__type": "Pointer", "className": long, "objectId": "x"]],
                ]
                #expect(try await server.send("POST", "/classes/Song", ["to": added]).code == 103)
            }
            let largest = try await server.texts("SELECT max(octet_length(schema::text))::text FROM \"_SCHEMA\"")
            #expect(largest.compactMap { Int($0) }.allSatisfy { $0 < 20_000 }, "\(largest)")
        }
    }

    @Test("Compressible text counts toward maxObjectSize at its full size")
    func compressed() async throws {
        try await TestServer.run(["maxObjectSize": 500_000]) { server in
            let id = try await server.create("Song", ["title": "a"])
            let text = JSONValue.string(String(repeating: "a", count: 200_000))
            for (field, status) in [("a", 200), ("b", 200), ("c", 400)] {
                let answer = try await server.send("PUT", "/classes/Song/\(id)", .object([Name(field): text]))
                #expect(answer.status == status, "\(answer.text.prefix(200))")
                if status == 400 { #expect(answer.code == 116) }
            }
        }
    }

    @Test("maxObjectSize and the addField permission apply to sessions")
    func sessions() async throws {
        try await TestServer.run(["maxObjectSize": 100_000]) { server in
            let kim = try await server.signUp("kim")
            let large = JSONValue.string(String(repeating: "a", count: 200_000))
            #expect(try await server.send("POST", "/sessions", ["x": large], as: .session(kim.token)).code == 116)
            #expect(try await server.send("POST", "/sessions", ["y": 1], as: .session(kim.token)).status == 201)
            let closed = try await server.send(
                "PUT", "/schemas/_Session", ["classLevelPermissions": ["create": ["*": true], "addField": [:]]],
                as: .master)
            try #require(closed.status == 200, "\(closed.text)")
            #expect(try await server.send("POST", "/sessions", ["z": 1], as: .session(kim.token)).code == 119)
            #expect(try await server.send("POST", "/sessions", ["y": 2], as: .session(kim.token)).status == 201)
        }
    }

    @Test("Rejects a batch of 11 challenges with 107")
    func challenges() async throws {
        try await TestServer.run { server in
            let call: JSONValue = [
                "method": "POST", "path": "/parse/challenge",
                "body": ["challengeData": ["x": [:]], "username": "kim", "password": "guess"],
            ]
            let batch = try await server.send(
                "POST", "/batch", ["requests": .array(Array(repeating: call, count: 11))])
            #expect(batch.code == 107, "\(batch.text.prefix(300))")
        }
    }

    @Test("AddUnique and Remove of 40,000 elements stay fast, also with triggers")
    func lists() async throws {
        var extensions = ServerExtensions()
        extensions.backend.triggers = Onlooker()
        try await TestServer.run(extensions: extensions) { server in
            let numbers = JSONValue.array((0..<40_000).map { .number(Double($0)) })
            let began = ContinuousClock.now
            let id = try await server.create("Song", ["list": ["__op": "AddUnique", "objects": numbers]])
            let removed = try await server.send(
                "PUT", "/classes/Song/\(id)", ["list": ["__op": "Remove", "objects": numbers]])
            #expect(removed.status == 200)
            #expect(try await server.send("GET", "/classes/Song/\(id)")["list"] == [])
            #expect(ContinuousClock.now - began < Self.bound)
        }
    }

    @Test("In a Batch of relation operations, the last one on each member wins, even for 40,000 members")
    func relations() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Owner", [:])
            let pointers = (0..<40_000).map { JSONValue.pointer("Song", "s\($0)") }
            let outwards = (0..<20_000).flatMap { [pointers[20_000 + $0], pointers[19_999 - $0]] }
            let began = ContinuousClock.now
            let changed = try await server.send(
                "PUT", "/classes/Owner/\(id)",
                [
                    "songs": [
                        "__op": "Batch",
                        "ops": [
                            ["__op": "RemoveRelation", "objects": .array(pointers)],
                            ["__op": "AddRelation", "objects": .array(outwards)],
                            ["__op": "RemoveRelation", "objects": .array(Array(pointers.dropFirst()))],
                        ],
                    ]
                ])
            #expect(changed.status == 200, "\(changed.text)")
            #expect(ContinuousClock.now - began < Self.bound)
            #expect(try await server.texts("SELECT \"relatedId\" FROM \"_Join:songs:Owner\"") == ["s0"])
        }
    }
}
