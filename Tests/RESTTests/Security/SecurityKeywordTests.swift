import JSON
import TestSupport
import Testing

/// Advisories of class L: data must not contain prohibited words, at any depth and by any route.
@Suite struct SecurityKeywordTests {
    private static let prohibited: [(JSONValue, String)] = [
        (["__proto__": ["polluted": true]], "{\"key\":\"__proto__\"}"),
        (["constructor": ["prototype": ["polluted": true]]], "{\"key\":\"constructor\"}"),
        (["_bsontype": "Code", "code": "1"], "{\"key\":\"_bsontype\",\"value\":\"Code\"}"),
    ]

    private static func places(_ data: JSONValue) -> [JSONValue] {
        [
            data, ["a": data], ["a": ["b": ["c": data]]], [data], [1, [data]], ["first": [:], "second": data],
            ["first": ["x": 1], "list": [], "last": ["y": data]], [["x": 1], "text", data],
            ["__op": "Add", "objects": [data]], ["__op": "SetOnInsert", "amount": data],
        ]
    }

    private static func expectProhibited(
        _ answer: TestAnswer, _ rule: String, _ what: String, location: SourceLocation = #_sourceLocation
    ) {
        SecurityProbe.expectRefused(answer, 105, what, location: location)
        #expect(
            answer.error == "Prohibited keyword in request data: \(rule).", "\(what): \(answer.text)",
            sourceLocation: location)
    }

    @Test("GHSA-p6h4-93qp-jhcm, GHSA-prm5-8g2m-24gg, GHSA-q342-9w2p-57fp: rejects prohibited keywords at any depth")
    func depths() async throws {
        try await TestServer.run { server in
            let id = try await SecurityProbe.makeSongs(server)
            for (data, rule) in Self.prohibited {
                for value in Self.places(data) {
                    let body: JSONValue = ["before": ["x": [1, 2]], "value": value]
                    let created = try await server.send("POST", "/classes/Song", body)
                    Self.expectProhibited(created, rule, "\(body)")
                    let changed = try await server.send("PUT", "/classes/Song/\(id)", body)
                    Self.expectProhibited(changed, rule, "\(body)")
                    let master = try await server.send("POST", "/classes/Song", body, as: .master)
                    Self.expectProhibited(master, rule, "\(body)")
                }
                Self.expectProhibited(try await server.send("POST", "/classes/Song", data), rule, "\(data)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-462x-c3jw-7vr6, GHSA-9ccr-fpp6-78qf: rejects prohibited keywords on every route that stores data")
    func routes() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let session = try await server.send("GET", "/sessions/me", as: .session(kim.token)).string("objectId")
            for (data, rule) in Self.prohibited {
                let requests: [(String, String, JSONValue)] = [
                    ("POST", "/users", ["username": "lou", "password": "x", "data": data]),
                    ("PUT", "/users/\(kim.id)", ["data": ["a": data]]), ("POST", "/sessions", ["data": data]),
                    ("PUT", "/sessions/\(session)", ["data": data]),
                    ("POST", "/roles", ["name": "Crew", "ACL": ["*": ["read": true]], "data": data]),
                    ("POST", "/installations", ["installationId": "i-1", "deviceType": "ios", "data": data]),
                ]
                for (method, path, body) in requests {
                    let answer = try await server.send(method, path, body, as: .session(kim.token))
                    Self.expectProhibited(answer, rule, "\(method) \(path)")
                }
                let config = try await server.send("PUT", "/config", ["params": ["a": data]], as: .master)
                Self.expectProhibited(config, rule, "config")
                for isTransaction in [false, true] {
                    let call = SecurityProbe.call("POST", "/classes/Song", ["a": [data]])
                    let batch = try await server.send(
                        "POST", "/batch", ["requests": [call], "transaction": .bool(isTransaction)])
                    #expect(batch.text.contains("Prohibited keyword in request data"), "\(batch.text)")
                    #expect(!batch.text.contains("success"), "\(batch.text)")
                }
            }
            #expect(try await server.find("Song", as: .master).results.isEmpty)
            #expect(try await server.send("GET", "/users", as: .master).results.count == 1)
        }
    }

    @Test("GHSA-93vw-8fm5-p2jf: keywords are prohibited as keys but allowed as values")
    func texts() async throws {
        try await TestServer.run { server in
            let id = try await server.create("Song", ["title": "constructor", "tags": ["__proto__", "Code"]])
            let song = try await server.send("GET", "/classes/Song/\(id)")
            #expect(song["title"] == "constructor")
            #expect(song["tags"] == ["__proto__", "Code"])
        }
    }

    @Test("GHSA-xprv-wvh7-qqqx: rejects the keywords configured in requestKeywordDenylist")
    func ownWords() async throws {
        try await TestServer.run(["requestKeywordDenylist": [["key": "forbidden"]]]) { server in
            let refused = try await server.send("POST", "/classes/Song", ["a": [["b": ["forbidden": 1]]]])
            Self.expectProhibited(refused, "{\"key\":\"forbidden\"}", "own word")
            #expect(try await server.send("POST", "/classes/Song", ["a": ["b": 1]]).status == 201)
        }
    }

    @Test("GHSA-3v4q-4q9g-x83q: JavaScript prototype names match no application, key, class or field")
    func prototypeNames() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            for name in ["__proto__", "constructor", "prototype", "hasOwnProperty", "toString"] {
                let application = try await server.send(
                    "GET", "/classes/Song", as: .nobody,
                    headers: ["X-Parse-Application-Id": name, "X-Parse-REST-API-Key": TestServer.restKey])
                #expect(application.status == 403, "\(name)")
                let body: JSONValue = ["_ApplicationId": .string(name), "_method": "GET"]
                #expect(try await server.send("POST", "/classes/Song", body, as: .nobody).status == 403, "\(name)")
                let key = try await server.send(
                    "GET", "/schemas", as: .nobody,
                    headers: ["X-Parse-Application-Id": TestServer.applicationID, "X-Parse-Master-Key": name])
                #expect(key.status == 403, "\(name)")
                let found = try await server.send("GET", "/classes/\(name)")
                SecurityProbe.expectHarmless(found, name)
                #expect(found.results.isEmpty, "\(name)")
                let condition = try await server.find("Song", ["where": .object([Name(name): ["$exists": true]])])
                SecurityProbe.expectHarmless(condition, name)
                #expect(condition.results.isEmpty, "\(name)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-vpj2-qq7w-5qq6: names that JavaScript objects inherit match no function or job")
    func inheritedNames() async throws {
        try await TestServer.run { server in
            for name in ["__proto__", "constructor", "toString", "hasOwnProperty", "__proto__.toString", "valueOf"] {
                for path in ["/functions/\(name)", "/jobs/\(name)"] {
                    SecurityProbe.expectRefused(try await server.send("POST", path, [:], as: .master), 141, path)
                }
            }
        }
    }
}
