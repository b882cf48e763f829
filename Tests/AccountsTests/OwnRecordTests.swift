import JSON
import TestSupport
import Testing

/// `GET /users/me` uses a cache, which must never be older than an acknowledged change.
@Suite struct OwnRecordTests {
    @Test("/users/me shows changes by the user, the master key and batches immediately")
    func changes() async throws {
        try await TestServer.run { server in
            let user = try await server.signUp("ada", ["mood": "calm"])
            func mood() async throws -> JSONValue? {
                try await server.send("GET", "/users/me", as: .session(user.token))["mood"]
            }
            #expect(try await mood() == "calm")
            let path = "/users/\(user.id)"
            _ = try await server.send("PUT", path, ["mood": "glad"], as: .session(user.token))
            #expect(try await mood() == "glad")
            _ = try await server.send("PUT", path, ["mood": "tired"], as: .master)
            #expect(try await mood() == "tired")
            let change: JSONValue = ["method": "PUT", "path": .string("/parse" + path), "body": ["mood": "awake"]]
            for isTransaction in [false, true] {
                var change = change.objectValue ?? [:]
                change["body"] = ["mood": .string("awake \(isTransaction)")]
                let answer = try await server.send(
                    "POST", "/batch", ["requests": [.object(change)], "transaction": .bool(isTransaction)],
                    as: .session(user.token))
                #expect(answer.status == 200)
                #expect(try await mood() == .string("awake \(isTransaction)"))
            }
        }
    }

    @Test("/users/me omits a field as soon as it is removed from the class")
    func schemaChanges() async throws {
        try await TestServer.run { server in
            let user = try await server.signUp("ada", ["mood": "calm"])
            let me = { try await server.send("GET", "/users/me", as: .session(user.token)) }
            #expect(try await me()["mood"] == "calm")
            let removal: JSONValue = ["className": "_User", "fields": ["mood": ["__op": "Delete"]]]
            #expect(try await server.send("PUT", "/schemas/_User", removal, as: .master).status == 200)
            #expect(try await me()["mood"] == nil)
        }
    }

    @Test("/users/me fails after a log-out, even if the record was cached")
    func ended() async throws {
        try await TestServer.run { server in
            let user = try await server.signUp("ada")
            #expect(try await server.send("GET", "/users/me", as: .session(user.token)).status == 200)
            _ = try await server.send("POST", "/logout", as: .session(user.token))
            let answer = try await server.send("GET", "/users/me", as: .session(user.token))
            #expect(answer.status == 400)
            #expect(answer["code"] == 209)
        }
    }

    @Test("File URLs in /users/me have the host of the request")
    func fileLinks() async throws {
        try await TestServer.run { server in
            let user = try await server.signUp(
                "ada", ["picture": ["__type": "File", "name": "a.png", "url": "http://x/a.png"]])
            for host in ["one.example", "two.example"] {
                let answer = try await server.send(
                    "GET", "/users/me", as: .session(user.token), headers: ["Host": host])
                #expect(answer["picture"]?["url"]?.stringValue?.hasPrefix("http://\(host)/") == true)
            }
        }
    }

    @Test("A record read in a rolled-back transaction isn't cached")
    func rolledBack() async throws {
        try await TestServer.run { server in
            let user = try await server.signUp("ada", ["mood": "calm"])
            let answer = try await server.send(
                "POST", "/batch",
                [
                    "transaction": true,
                    "requests": [
                        ["method": "PUT", "path": .string("/parse/users/\(user.id)"), "body": ["mood": "wild"]],
                        ["method": "GET", "path": "/parse/users/me"],
                        ["method": "DELETE", "path": "/parse/classes/Nothing/none"],
                    ],
                ], as: .session(user.token))
            #expect(answer.status == 404)
            let me = try await server.send("GET", "/users/me", as: .session(user.token))
            #expect(me["mood"] == "calm")
        }
    }
}
