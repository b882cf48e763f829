import JSON
import TestSupport
import Testing

/// Passwords of all lengths and characters, and recognition of password hashes.
@Suite struct PasswordTests {
    private static func logIn(_ server: TestServer, _ password: String, as name: String = "kim") async throws
        -> TestAnswer
    {
        try await server.send("POST", "/login", ["username": .string(name), "password": .string(password)])
    }

    @Test(
        "Up to preset 8, passwords of any length work, and bcrypt compares only their first 72 bytes",
        arguments: [
            71, 72, 73, 511, 512, 513, 5_000, 100_000,
        ])
    func lengths(length: Int) async throws {
        try await TestServer.run(["preset": 8]) { server in
            let password = String(repeating: "0123456789", count: length / 10 + 1).prefix(length)
            let kim = try await server.signUp("kim", password: String(password))
            #expect(try await Self.logIn(server, String(password)).status == 200)
            #expect(try await Self.logIn(server, String(password.prefix(70)) + "x").code == 101)
            #expect(try await Self.logIn(server, "").code == 201)
            let cut = try await Self.logIn(server, String(password.prefix(72)))
            #expect(cut.status == 200)
            let longer = try await Self.logIn(server, password + "x")
            #expect(length < 72 ? longer.code == 101 : longer.status == 200)
            // Changed passwords behave the same.
            let other = String(password.reversed())
            _ = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": .string(other)], as: .session(kim.token)
            ).succeeded()
            #expect(try await Self.logIn(server, other).status == 200)
            let hashes = try await server.texts("SELECT \"_hashed_password\" FROM \"_User\"")
            #expect(hashes.allSatisfy { $0.utf8.count == 60 })
        }
    }

    @Test("Look-alike passwords don't match, and passwords with NUL are rejected")
    func bytes() async throws {
        try await TestServer.run { server in
            let pairs = [("caf\u{e9}", "cafe\u{301}"), ("\u{212a}ey", "Key"), ("a\u{200d}b", "ab"), ("Key", "key")]
            for (index, (password, other)) in pairs.enumerated() {
                _ = try await server.signUp("u\(index)", password: password)
                #expect(try await Self.logIn(server, password, as: "u\(index)").status == 200)
                #expect(try await Self.logIn(server, other, as: "u\(index)").code == 101)
            }
            _ = try await server.signUp("kim", password: "secret")
            #expect(try await Self.logIn(server, "secret\0").status == 400)
            #expect(try await Self.logIn(server, "secret\0more").status == 400)
            let refused = try await server.send("POST", "/users", ["username": "lou", "password": "sec\0ret"])
            #expect(refused.status == 400)
            let surrogate = try await server.send(
                "POST", "/login", bytes: Array(#"{"username":"kim","password":"\ud800"}"#.utf8),
                headers: ["Content-Type": "application/json"])
            #expect([101, 107].contains(surrogate.code ?? 0), "\(surrogate.text)")
        }
    }

    @Test("doNotAllowUsername compares bytes, so it ignores look-alike characters")
    func namesInPasswords() async throws {
        try await TestServer.run(["passwordPolicy": ["doNotAllowUsername": true]]) { server in
            let refused = try await server.send("POST", "/users", ["username": "\u{e9}", "password": "caf\u{e9}!"])
            #expect(refused.code == 142)
            let taken = try await server.send("POST", "/users", ["username": "\u{e9}", "password": "cafe\u{301}!"])
            #expect(taken.status == 201, "\(taken.text)")
        }
    }

    @Test("Rejects log-ins with hashes of excessive cost, and logs the user and the cost")
    func dearHashes() async throws {
        try await TestServer.run(logger: UnwrittenLog.logger()) { server in
            let kim = try await server.signUp("kim")
            for cost in ["15", "31"] {
                try await server.execute(
                    "UPDATE \"_User\" SET \"_hashed_password\" = overlay(\"_hashed_password\" placing '\(cost)' from 5)"
                )
                for path in ["/login", "/verifyPassword"] {
                    let answer = try await server.send("POST", path, ["username": "kim", "password": "secret"])
                    #expect(answer.status == 404)
                    #expect(answer.error == "Invalid username/password.")
                }
            }
            let log = try await server.send("GET", "/scriptlog?n=100&level=warn", as: .master)
            let lines = log.json.arrayValue?.filter { $0["user"]?.stringValue == kim.id } ?? []
            #expect(lines.count == 4, "\(log.text)")
            #expect(lines.first?["cost"] == 31)
        }
    }

    @Test("Skips hashes of excessive cost in the password history")
    func dearHistory() async throws {
        try await TestServer.run(["passwordPolicy": ["maxPasswordHistory": 5]]) { server in
            let kim = try await server.signUp("kim")
            try await server.execute(
                """
                UPDATE "_User" SET "_password_history" =
                    jsonb_build_array(overlay("_hashed_password" placing '31' from 5), 'none', 7)
                """)
            let changed = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "better"], as: .session(kim.token))
            #expect(changed.status == 200, "\(changed.text)")
            let again = try await server.send(
                "PUT", "/users/\(kim.id)", ["password": "secret"], as: .session(try changed.string("sessionToken")))
            #expect(again.code == 142)
        }
    }

    @Test("Rejects malformed password hashes from the maintenance key and from imports")
    func noHashes() async throws {
        let texts = [
            "secret", "$2b$10$", "$1$abcdefgh$0123456789012345678901",
            "$2b$03$5f4dcc3b5aa765d61d8327deb882cf99abcdefghijklmnopqrstu",
            "$2b$32$5f4dcc3b5aa765d61d8327deb882cf99abcdefghijklmnopqrstu", "*0",
            "$2b$10$5f4dcc3b5aa765d61d8327deb882cf99abcdefghijklmnopqrs u",
            "$2c$10$5f4dcc3b5aa765d61d8327deb882cf99abcdefghijklmnopqrstu",
        ]
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            for text in texts {
                let hash = JSONValue.string(text)
                let made = try await server.send(
                    "POST", "/users", ["username": "lou", "_hashed_password": hash], as: .maintenance)
                #expect(made.code == 142, "\(made.text)")
                let changed = try await server.send(
                    "PUT", "/users/\(kim.id)", ["_hashed_password": hash], as: .maintenance)
                #expect(changed.code == 142, "\(text)")
                for key in ["_hashed_password", "bcryptPassword"] {
                    let rows = JSONValue.array([
                        .object([Name("objectId"): "u1", Name("username"): "ann", Name(key): hash])
                    ])
                    let answer = try await ImportForm.send(rows.text, to: "/import_data/_User", of: server)
                    #expect(answer.rows.first?["error"]?["code"] == 142, "\(answer.text)")
                }
            }
            #expect(try await server.rows("SELECT \"username\" FROM \"_User\"") == [["kim"]])
            #expect(try await Self.logIn(server, "secret").status == 200)
        }
    }

    @Test("Failed log-ins take the same time for unknown names, users without a password and long guesses")
    func time() async throws {
        try await TestServer.run(["passwordHashingThreads": 1], passwordCost: 9) { server in
            _ = try await server.signUp("kim")
            _ = try await server.send("POST", "/users", ["authData": ["anonymous": ["id": "device"]]]).succeeded()
            let nameless = try await server.texts("SELECT \"username\" FROM \"_User\" WHERE \"authData\" IS NOT NULL")
            _ = try await server.signUp("dear")
            try await server.execute(
                """
                UPDATE "_User" SET "_hashed_password" = overlay("_hashed_password" placing '31' from 5)
                WHERE "username" = 'dear'
                """)
            let clock = ContinuousClock()
            let long = String(repeating: "x", count: 5_000)
            let guesses = [
                ("kim", "wrong"), ("nobody", "wrong"), (nameless[0], "wrong"), ("dear", "secret"), ("kim", long),
                ("nobody", long),
            ]
            var shortest = [Duration](repeating: .seconds(60), count: guesses.count)
            func isLevel(_ time: Duration) -> Bool { time > shortest[0] / 3 && time < shortest[0] * 3 }
            // In turns, because other tests keep the machine busy. The shortest times are undisturbed, but may need
            // more turns. A real difference remains.
            for turn in 0..<50 where turn < 7 || !shortest.allSatisfy(isLevel) {
                for (index, (name, password)) in guesses.enumerated() {
                    let start = clock.now
                    let answer = try await Self.logIn(server, password, as: name)
                    shortest[index] = min(shortest[index], clock.now - start)
                    #expect(answer.code == 101, "\(name): \(answer.status) \(answer.text)")
                }
            }
            for (guess, time) in zip(guesses, shortest) {
                #expect(
                    isLevel(time),
                    "\(guess.0), \(guess.1.utf8.count) bytes: \(time), usually \(shortest[0])")
            }
        }
    }
}
