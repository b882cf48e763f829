import JSON
import TestSupport
import Testing

/// Expired passwords, and names in a different case.
@Suite struct PasswordAgeTests {
    private static func logIn(_ server: TestServer, _ name: String, _ password: String = "secret") async throws
        -> TestAnswer
    {
        try await server.send("POST", "/login", ["username": .string(name), "password": .string(password)])
    }

    @Test("Log-ins with an expired password fail, but existing sessions stay valid and can change it")
    func age() async throws {
        try await TestServer.run(["passwordPolicy": ["maxPasswordAge": 1], "cacheTTL": 0]) { server in
            let kim = try await server.signUp("kim")
            #expect(try await Self.logIn(server, "kim").status == 200)
            try await server.execute("UPDATE \"_User\" SET \"_password_changed_at\" = now() - interval '2 days'")
            let old = try await Self.logIn(server, "kim")
            #expect(old.status == 404 && old.code == 101, "\(old.text)")
            #expect(old.error == "Your password has expired. Please reset your password.")
            // A wrong password leads to the usual error, and verifying a password ignores its age.
            #expect(try await Self.logIn(server, "kim", "wrong").error == "Invalid username/password.")
            let verified = try await server.send("POST", "/verifyPassword", ["username": "kim", "password": "secret"])
            #expect(verified.status == 200, "\(verified.text)")
            #expect(try await server.send("GET", "/users/me", as: .session(kim.token)).status == 200)
            let renewed = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "fresh"], as: .session(kim.token))
            #expect(renewed.status == 200, "\(renewed.text)")
            #expect(try await Self.logIn(server, "kim", "fresh").status == 200)
            // If the date of the last change is missing, the log-in sets it.
            try await server.execute("UPDATE \"_User\" SET \"_password_changed_at\" = NULL")
            #expect(try await Self.logIn(server, "kim", "fresh").status == 200)
            #expect(
                try await server.texts(
                    "SELECT 'noted' FROM \"_User\" WHERE \"_password_changed_at\" > now() - interval '1 h'") == [
                        "noted"
                    ])
        }
    }

    @Test("Preset 9 rejects new passwords over 72 bytes, but users with older ones can log in and change them")
    func length() async throws {
        let long = String(repeating: "ä", count: 40)
        let refusal = "Password can't be longer than 72 bytes."
        try await TestServer.run(["preset": 8]) { server in
            _ = try await server.signUp("kim", password: long)
            try await server.alongside { nine in
                let session = try await Self.logIn(nine, "kim", long).succeeded()
                let token = try session.string("sessionToken")
                let id = try session.string("objectId")
                for password in [long, String(repeating: "a", count: 73)] {
                    let changed = try await nine.send(
                        "PUT", "/users/\(id)", ["password": .string(password)], as: .session(token))
                    #expect(changed.code == 142 && changed.error == refusal, "\(changed.text)")
                    let made = try await nine.send(
                        "POST", "/users", ["username": "lou", "password": .string(password)])
                    #expect(made.code == 142 && made.error == refusal, "\(made.text)")
                }
                let fits = String(repeating: "a", count: 72)
                _ = try await nine.send(
                    "PUT", "/users/\(id)", ["password": .string(fits)], as: .session(token)
                ).succeeded()
                #expect(try await Self.logIn(nine, "kim", fits).status == 200)
            }
        }
    }

    @Test("caseInsensitiveLogin matches names in any case unless ambiguous; sign-ups always ignore case")
    func letterCase() async throws {
        try await TestServer.run { server in
            _ = try await server.signUp("Kim", ["email": "Kim@Example.com"])
            #expect(try await Self.logIn(server, "kim").code == 101)
            let taken = try await server.send("POST", "/users", ["username": "KIM", "password": "x"])
            #expect(taken.code == 202, "\(taken.text)")
            try await server.alongside(["caseInsensitiveLogin": true]) { lenient in
                for name in ["Kim", "kim", "KIM", "K\u{131}m", "kim@example.com", "kım@example.com"] {
                    let answer = try await Self.logIn(lenient, name)
                    #expect(answer.status == (name.contains("\u{131}") ? 404 : 200), "\(name): \(answer.text)")
                }
                let byAddress = try await lenient.send(
                    "POST", "/login", ["email": "KIM@EXAMPLE.COM", "password": "secret"])
                #expect(byAddress.status == 200, "\(byAddress.text)")
                #expect(try await Self.logIn(lenient, "kim", "wrong").code == 101)
                // A name that matches two users matches neither, since it is ambiguous.
                try await lenient.execute(
                    """
                    DROP INDEX IF EXISTS "roost_folded_username";
                    INSERT INTO "_User" ("objectId", "username", "_hashed_password")
                    SELECT 'other', 'kIM', "_hashed_password" FROM "_User" WHERE "username" = 'Kim'
                    """)
                #expect(try await Self.logIn(lenient, "kim").code == 101)
                #expect(try await Self.logIn(lenient, "Kim").status == 200)
            }
        }
    }

    @Test("Stores names and addresses in lower case if configured, and accepts any case at log-in")
    func lowercase() async throws {
        let options: JSONObject = ["convertUsernameToLowercase": true, "convertEmailToLowercase": true]
        try await TestServer.run(options) { server in
            _ = try await server.signUp("Kim", ["email": "Kim@Example.com"])
            #expect(
                try await server.texts("SELECT \"username\" || ' ' || \"email\" FROM \"_User\"") == [
                    "kim kim@example.com"
                ])
            for name in ["kim", "Kim", "KIM@example.com"] {
                #expect(try await Self.logIn(server, name).status == 200, "\(name)")
            }
            let both = try await server.send(
                "POST", "/login", ["username": "KIM", "email": "KIM@EXAMPLE.COM", "password": "secret"])
            #expect(both.status == 200, "\(both.text)")
        }
    }
}
