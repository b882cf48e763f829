import JSON
import TestSupport
import Testing

/// Accounts of which two things are changed at once: what is decided on one of them holds for the other.
@Suite(.timeLimit(.minutes(10))) struct AccountRaceTests {
    @Test("A link that is asked for while the address is changed is sent to nobody, and the token is not changed")
    func links() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options(["verifyUserEmails": true])) { server in
                _ = try await server.signUp("ann", ["email": "old@m.example"])
                _ = try await catcher.mail(to: "old@m.example")
                let tokens =
                    "SELECT COALESCE(\"_email_verify_token\", '') || COALESCE(\"_perishable_token\", '') FROM \"_User\""
                let before = try await server.texts(tokens)
                async let change: Void = server.execute(
                    """
                    BEGIN; UPDATE "_User" SET "email" = 'new@m.example'; SELECT pg_sleep(2); COMMIT
                    """)
                try await Task.sleep(for: .milliseconds(500))
                async let verification = server.send("POST", "/verificationEmailRequest", ["email": "old@m.example"])
                async let reset = server.send("POST", "/requestPasswordReset", ["email": "old@m.example"])
                let answers = try await [verification.status, reset.status]
                #expect(answers == [200, 200])
                try await change
                #expect(try await server.texts(tokens) == before)
                let isEmpty = try await eventually {
                    try await server.texts("SELECT id::text FROM _roost_mail").isEmpty
                }
                #expect(isEmpty)
                #expect(try catcher.mails().count == 1)
            }
        }
    }

    @Test("An address that is sent again as it is is not written: who changes it meanwhile has changed it")
    func sameAddress() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options(["verifyUserEmails": true])) { server in
                let ann = try await server.signUp("ann", ["email": "old@m.example"])
                async let change: Void = server.execute(
                    """
                    BEGIN; UPDATE "_User" SET "email" = 'new@m.example'; SELECT pg_sleep(2); COMMIT
                    """)
                try await Task.sleep(for: .milliseconds(500))
                let same = try await server.send(
                    "PUT", "/users/\(ann.id)", ["email": "old@m.example", "nick": "a"], as: .session(ann.token))
                try await change
                #expect(same.status == 200, "\(same.text)")
                #expect(try await server.texts("SELECT \"email\" || \"nick\" FROM \"_User\"") == ["new@m.examplea"])
            }
        }
    }

    @Test(
        "A session that ends while it opens another opens none", arguments: ["/sessions", "/upgradeToRevocableSession"])
    func stolenSessions(path: String) async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            // What a change of the password does: the user, and then all sessions.
            async let change: Void = server.execute(
                """
                BEGIN; UPDATE "_User" SET "_hashed_password" = 'x'; SELECT pg_sleep(2); DELETE FROM "_Session"; COMMIT
                """)
            try await Task.sleep(for: .milliseconds(500))
            let refused = try await server.send("POST", path, [:], as: .session(kim.token))
            try await change
            #expect(refused.code == 209, "\(refused.text)")
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_Session\"").isEmpty)
        }
    }

    @Test("Of two ways to log in that are taken away at once, one stays")
    func unlinking() async throws {
        try await TestServer.run(["auth": ["facebook": ["appIds": ["1"], "appSecret": "s"]]]) { server in
            let device: JSONValue = ["id": "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"]
            let kim = try await server.send("POST", "/users", ["authData": ["anonymous": device]]).succeeded()
            let path = "/users/\(try kim.string("objectId"))"
            try await server.execute(
                """
                UPDATE "_User" SET "authData" = "authData" || '{"facebook": {"id": "7"}}'
                """)
            async let change: Void = server.execute(
                """
                BEGIN; UPDATE "_User" SET "authData" = "authData" - 'facebook'; SELECT pg_sleep(2); COMMIT
                """)
            try await Task.sleep(for: .milliseconds(500))
            let last = try await server.send(
                "PUT", path, ["authData": ["anonymous": .null]], as: .session(try kim.string("sessionToken")))
            try await change
            #expect(last.code == 142, "\(last.text)")
        }
    }

    @Test("A log-out and a look at oneself are about the session of the token, whatever key comes with it")
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

    @Test("A password that a pattern would look at for long is refused before")
    func longPasswords() async throws {
        let policy: JSONValue = ["validatorPattern": "(?=.*[A-Z])(?=.*[0-9]).{8,}"]
        try await TestServer.run(["preset": 7, "passwordPolicy": policy]) { server in
            let began = ContinuousClock.now
            let long = JSONValue.string(String(repeating: "a", count: 100_000))
            let refused = try await server.send("POST", "/users", ["username": "kim", "password": long])
            #expect(refused.code == 142, "\(refused.text)")
            #expect(ContinuousClock.now - began < .seconds(5))
            let right = JSONValue.string(String(repeating: "a", count: 1000) + "A1")
            #expect(try await server.send("POST", "/users", ["username": "kim", "password": right]).status == 201)
        }
    }

    @Test("Who has a name logs in by it, whoever else has it as an address")
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
