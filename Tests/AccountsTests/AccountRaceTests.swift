import JSON
import TestSupport
import Testing

/// Concurrent changes of an account: decisions based on one change must respect the other.
@Suite(.timeLimit(.minutes(10))) struct AccountRaceTests {
    /// Sends a request while a conflicting transaction is open, and commits the transaction once the request waits for
    /// it.
    ///
    /// - Parameter last: A further statement of the transaction.
    private static func send(
        _ method: String, _ path: String, _ body: JSONValue, _ token: String, _ server: TestServer, amid change: String,
        last: String? = nil
    ) async throws -> TestAnswer {
        try await server.whileLocked(change, last: last, commits: true) {
            let request = Task { try await server.send(method, path, body, as: .session(token)) }
            let isWaiting = try await server.waitsForLocks()
            #expect(isWaiting)
            return request
        }.value
    }

    @Test("A link requested during an address change isn't sent, and the tokens stay the same")
    func links() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true, "lockTimeout": 60_000]) { server, catcher in
            _ = try await server.signUp("ann", ["email": "old@m.example"])
            _ = try await catcher.mail(to: "old@m.example")
            let tokens =
                "SELECT COALESCE(\"_email_verify_token\", '') || COALESCE(\"_perishable_token\", '') FROM \"_User\""
            let before = try await server.texts(tokens)
            let change = #"UPDATE "_User" SET "email" = 'new@m.example'"#
            let requests = try await server.whileLocked(change, commits: true) {
                let requests = ["/verificationEmailRequest", "/requestPasswordReset"].map { path in
                    Task { try await server.send("POST", path, ["email": "old@m.example"]) }
                }
                let areWaiting = try await server.waitsForLocks(2)
                #expect(areWaiting)
                return requests
            }
            for request in requests { #expect(try await request.value.status == 200) }
            #expect(try await server.texts(tokens) == before)
            let isEmpty = try await eventually {
                try await server.texts("SELECT id::text FROM _roost_mail").isEmpty
            }
            #expect(isEmpty)
            #expect(try catcher.mails().count == 1)
        }
    }

    @Test("Saving an unchanged address doesn't undo a concurrent address change")
    func sameAddress() async throws {
        try await MailCatcher.serve(["verifyUserEmails": true, "lockTimeout": 60_000]) { server, catcher in
            let ann = try await server.signUp("ann", ["email": "old@m.example"])
            let same = try await Self.send(
                "PUT", "/users/\(ann.id)", ["email": "old@m.example", "nick": "a"], ann.token, server,
                amid: #"UPDATE "_User" SET "email" = 'new@m.example'"#)
            #expect(same.status == 200, "\(same.text)")
            #expect(try await server.texts("SELECT \"email\" || \"nick\" FROM \"_User\"") == ["new@m.examplea"])
        }
    }

    @Test(
        "A session that ends concurrently can't create another", arguments: ["/sessions", "/upgradeToRevocableSession"])
    func stolenSessions(path: String) async throws {
        try await TestServer.run(["lockTimeout": 60_000]) { server in
            let kim = try await server.signUp("kim")
            // Like a password change: updates the user, then deletes all sessions.
            let refused = try await Self.send(
                "POST", path, [:], kim.token, server, amid: #"UPDATE "_User" SET "_hashed_password" = 'x'"#,
                last: #"DELETE FROM "_Session""#)
            #expect(refused.code == 209, "\(refused.text)")
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_Session\"").isEmpty)
        }
    }

    @Test("Rejects the removal of a login provider if the only other one is removed concurrently")
    func unlinking() async throws {
        let auth: JSONValue = ["facebook": ["appIds": ["1"], "appSecret": "s"]]
        try await TestServer.run(["auth": auth, "lockTimeout": 60_000]) { server in
            let device: JSONValue = ["id": "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"]
            let kim = try await server.send("POST", "/users", ["authData": ["anonymous": device]]).succeeded()
            let path = "/users/\(try kim.string("objectId"))"
            try await server.execute(
                """
                UPDATE "_User" SET "authData" = "authData" || '{"facebook": {"id": "7"}}'
                """)
            let last = try await Self.send(
                "PUT", path, ["authData": ["anonymous": .null]], try kim.string("sessionToken"), server,
                amid: #"UPDATE "_User" SET "authData" = "authData" - 'facebook'"#)
            #expect(last.code == 142, "\(last.text)")
        }
    }

    @Test("/logout and /users/me apply to the session token, even with the master key")
    func keysAndTokens() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            let token = ["X-Parse-Session-Token": kim.token]
            let own = try await server.send("GET", "/users/me", as: .master, headers: token)
            #expect(own["objectId"]?.stringValue == kim.id)
            _ = try await server.send("POST", "/logout", [:], as: .master, headers: token).succeeded()
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).code == 209)
            #expect(try await server.send("POST", "/logout", [:], as: .master, headers: token).status == 200)
            #expect(try await server.send("GET", "/users/me", as: .master, headers: token).code == 209)
        }
    }

    @Test("Rejects a very long password quickly instead of matching it against a costly pattern")
    func longPasswords() async throws {
        let policy: JSONValue = ["validatorPattern": "(?=.*[A-Z])(?=.*[0-9]).{8,}"]
        try await TestServer.run(["preset": 7, "passwordPolicy": policy]) { server in
            let began = ContinuousClock.now
            let long = JSONValue.string(String(repeating: "a", count: 100_000))
            let refused = try await server.send("POST", "/users", ["username": "kim", "password": long])
            #expect(refused.code == 142, "\(refused.text)")
            // The pattern would take more than a minute on this text.
            #expect(ContinuousClock.now - began < .seconds(30))
            let right = JSONValue.string(String(repeating: "a", count: 1000) + "A1")
            #expect(try await server.send("POST", "/users", ["username": "kim", "password": right]).status == 201)
        }
    }

    @Test("A log-in prefers a matching user name to a matching email address")
    func namesAndAddresses() async throws {
        try await TestServer.run { server in
            let rows: JSONValue = [["email": "ky@m.example", "password": "imported"]]
            _ = try await server.send("POST", "/import_data/_User", ["results": rows], as: .master).succeeded()
            let ky = try await server.signUp("ky@m.example", password: "own")
            let own = try await server.send("POST", "/login", ["username": "ky@m.example", "password": "own"])
            #expect(own["objectId"]?.stringValue == ky.id, "\(own.text)")
        }
    }
}
