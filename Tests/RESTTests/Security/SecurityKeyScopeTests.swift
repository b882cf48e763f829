import JSON
import TestSupport
import Testing

/// Advisories of class E by key: each key grants only its own access.
@Suite struct SecurityKeyScopeTests {
    @Test("GHSA-vc89-5g3r-cmhh, GHSA-xfh7-phr7-gr2x, GHSA-79wj-8rqv-jvp5: the read-only master key changes nothing")
    func readOnly() async throws {
        try await TestServer.run(["readOnlyMasterKey": "reader"]) { server in
            let id = try await SecurityProbe.makeSongs(server)
            let kim = try await server.signUp("kim")
            let file = try await server.send("POST", "/files/a.txt", bytes: Array("x".utf8), as: .master)
            let name = try file.string("name")
            let hook: JSONValue = ["functionName": "f", "url": "https://hooks.example/f"]
            _ = try await server.send("POST", "/hooks/functions", hook, as: .master).succeeded()
            let requests: [(String, String, JSONValue?)] = [
                ("POST", "/classes/Song", ["title": "x"]), ("PUT", "/classes/Song/\(id)", ["plays": 9]),
                ("DELETE", "/classes/Song/\(id)", nil), ("POST", "/users", ["username": "a", "password": "b"]),
                ("PUT", "/users/\(kim.id)", ["note": "x"]), ("DELETE", "/users/\(kim.id)", nil),
                ("POST", "/sessions", ["user": .pointer("_User", kim.id)]),
                ("POST", "/roles", ["name": "Crew", "ACL": [:]]), ("POST", "/loginAs", ["userId": .string(kim.id)]),
                ("POST", "/schemas/Other", ["className": "Other"]), ("PUT", "/schemas/Song", ["className": "Song"]),
                ("DELETE", "/schemas/Song", nil), ("DELETE", "/purge/Song", nil),
                ("PUT", "/config", ["params": ["a": 1]]), ("PUT", "/graphql-config", ["params": [:]]),
                ("POST", "/hooks/functions", ["functionName": "g", "url": "https://hooks.example/g"]),
                ("PUT", "/hooks/functions/f", ["url": "https://hooks.example/g"]),
                ("DELETE", "/hooks/functions/f", nil), ("POST", "/push_audiences", ["name": "x", "query": "{}"]),
                ("POST", "/jobs/x", [:]), ("POST", "/installations", ["installationId": "i", "deviceType": "ios"]),
                ("DELETE", "/files/\(name)", nil), ("POST", "/files/b.txt", ["base64": "eA=="]),
                ("GET", "/aggregate/Song?pipeline=%5B%7B%22%24out%22%3A%22Copy%22%7D%5D", nil),
            ]
            for (method, path, body) in requests {
                let answer = try await server.send(
                    method, path, body, as: .nobody, headers: SecurityProbe.reader)
                #expect((400..<500).contains(answer.status), "\(method) \(path): \(answer.text)")
                #expect(answer["sessionToken"] == nil, "\(method) \(path)")
                if path == "/jobs/x" { #expect(answer.code == 119, "\(answer.text)") }
            }
            let calls: JSONValue = .array([
                SecurityProbe.call("POST", "/classes/Song", ["title": "x"]),
                SecurityProbe.call("DELETE", "/classes/Song/\(id)"), SecurityProbe.call("DELETE", "/purge/Song"),
                SecurityProbe.call("POST", "/loginAs", ["userId": .string(kim.id)]),
            ])
            let batch = try await server.send(
                "POST", "/batch", ["requests": calls], as: .nobody, headers: SecurityProbe.reader)
            #expect(!batch.text.contains("success"), "\(batch.text)")
            try await SecurityProbe.expectSongs(server)
            #expect(try await server.send("GET", "/hooks/functions/f", as: .master)["url"] == hook["url"])
            #expect(try await server.send("GET", try file.string("url"), as: .nobody).status == 200)
            #expect(try await server.send("GET", "/sessions", as: .master).results.count == 1)
            #expect(try await server.send("GET", "/schemas/Other", as: .master).code == 103)
            let read = try await server.send("GET", "/classes/Song", as: .nobody, headers: SecurityProbe.reader)
            #expect(read.results.count == 2)
        }
    }

    private static let masterRoutes: [(String, String, JSONValue?)] = [
        ("GET", "/schemas", nil), ("GET", "/schemas/Song", nil), ("POST", "/schemas/Other", ["className": "Other"]),
        ("DELETE", "/schemas/Song", nil), ("DELETE", "/purge/Song", nil),
        ("GET", "/aggregate/Song?distinct=title", nil),
        ("PUT", "/config", ["params": ["a": 1]]), ("GET", "/serverInfo", nil), ("GET", "/hooks/functions", nil),
        ("POST", "/hooks/functions", ["functionName": "g", "url": "https://hooks.example/g"]),
        ("GET", "/hooks/triggers", nil), ("GET", "/graphql-config", nil), ("GET", "/push_audiences", nil),
        ("POST", "/jobs/x", [:]), ("GET", "/cloud_code/jobs", nil), ("GET", "/security", nil),
    ]

    @Test("GHSA-vc89-5g3r-cmhh: master-key routes return 403 to clients and to the maintenance key")
    func masterRoutes() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            let kim = try await server.signUp("kim")
            for (method, path, body) in Self.masterRoutes {
                for identity: TestServer.Identity in [.anonymous, .session(kim.token), .maintenance] {
                    let answer = try await server.send(method, path, body, as: identity)
                    #expect(answer.status == 403, "\(method) \(path): \(answer.text)")
                    #expect(answer.error == "Permission denied", "\(method) \(path): \(answer.text)")
                    if var parameters = body?.objectValue {
                        parameters["_method"] = .string(method)
                        let override = try await server.send("POST", path, .object(parameters), as: identity)
                        #expect(override.status == 403, "\(method) \(path): \(override.text)")
                    }
                }
                let nobody = try await server.send(method, path, body, as: .nobody)
                #expect(nobody.status == 403, "\(method) \(path): \(nobody.text)")
            }
            for identity: TestServer.Identity in [.anonymous, .session(kim.token), .maintenance] {
                let loginAs = try await server.send("POST", "/loginAs", ["userId": .string(kim.id)], as: identity)
                #expect((400..<500).contains(loginAs.status), "\(loginAs.text)")
                #expect(loginAs["sessionToken"] == nil)
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("GHSA-7cx5-254x-cgrq, GHSA-xqp8-w826-hh6x: only the master key can use explain, whatever its value")
    func explain() async throws {
        try await TestServer.run { server in
            _ = try await SecurityProbe.makeSongs(server)
            let values: [JSONValue] = [true, 1, "executionStats", "toString", "__proto__", ["a": 1], ["x"]]
            for value in values {
                let answer = try await server.find("Song", ["explain": value])
                SecurityProbe.expectRefused(answer, 102, "\(value)")
                #expect(try await server.find("Song", ["explain": value], as: .master).status < 500, "\(value)")
            }
            try await SecurityProbe.expectSongs(server)
        }
    }

    @Test("#10268: if sign-up is closed, the error doesn't reveal whether a user name or email address is taken")
    func closedSignUp() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("kim", ["email": "kim@example.com"])
            let permissions: JSONValue = ["create": [:], "find": ["*": true], "get": ["*": true]]
            _ = try await server.send(
                "PUT", "/schemas/_User", ["classLevelPermissions": permissions], as: .master
            ).succeeded()
            var errors: Set<String?> = []
            for body: JSONValue in [
                ["username": "kim", "password": "x"], ["username": "new", "password": "x"],
                ["username": "new", "password": "x", "email": "kim@example.com"],
            ] {
                let answer = try await server.send("POST", "/users", body)
                SecurityProbe.expectRefused(answer, 119, "\(body)")
                errors.insert(answer.error)
            }
            #expect(errors.count == 1, "\(errors)")
            #expect(try await server.send("GET", "/users", as: .master).results.count == 1)
        }
    }
}
