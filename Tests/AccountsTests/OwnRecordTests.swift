import JSON
import TestSupport
import Testing

/// `GET /users/me` uses a cache, which must never be older than an acknowledged change.
@Suite struct OwnRecordTests {
    @Test("A user sees every change of the own record at once, by any caller and in any way")
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

    @Test("A field that is removed from the class, or hidden, is gone from the own record at once")
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

    @Test("A session that has ended gives no record, though it was remembered")
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

    @Test("Links to files in the own record are those of the address that was called")
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

    @Test("What a transaction that came to nothing read of the own record is not remembered")
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
