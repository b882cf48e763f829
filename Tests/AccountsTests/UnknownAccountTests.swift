import JSON
import Operations
import ServerConfiguration
import TestSupport
import Testing

/// Account lockout reveals neither who has an account nor more than the remaining time.
@Suite struct UnknownAccountTests {
    @Test("Wrong passwords get the same responses for unknown and existing names")
    func alike() async throws {
        try await TestServer.run(["accountLockout": ["threshold": 3, "duration": 5]]) { server in
            _ = try await server.signUp("kim", ["email": "kim@example.com"])
            var told: [[String]] = []
            for name in ["kim@example.com", "nobody@example.com"] {
                var texts: [String] = []
                for _ in 0..<5 {
                    let body: JSONValue = ["username": .string(name), "password": "wrong"]
                    let answer = try await server.send("POST", "/login", body)
                    texts.append("\(answer.status) \(answer.text)")
                }
                told.append(texts)
            }
            #expect(told[0] == told[1])
            #expect(told[0][2].contains("Invalid username/password.") && told[0][3].contains("locked"))
        }
    }

    @Test("The lockout error shows the remaining minutes, rounded up but never above the duration")
    func minutes() async throws {
        try await TestServer.run(["accountLockout": ["threshold": 1, "duration": 10]]) { server in
            _ = try await server.signUp("kim")
            func text() async throws -> String? {
                try await server.send("POST", "/login", ["username": "kim", "password": "wrong"]).error
            }
            _ = try await text()
            #expect(try await text()?.hasSuffix("after 10 minute(s)") == true)
            try await server.execute(
                "UPDATE \"_User\" SET \"_account_lockout_expires_at\" = now() + interval '150 s'")
            #expect(try await text()?.hasSuffix("after 3 minute(s)") == true)
        }
        try await TestServer.run(["accountLockout": ["threshold": 1, "duration": 0.9]]) { server in
            _ = try await server.signUp("kim")
            let body: JSONValue = ["username": "kim", "password": "wrong"]
            _ = try await server.send("POST", "/login", body)
            let locked = try await server.send("POST", "/login", body)
            #expect(locked.error?.hasSuffix("after 0.9 minute(s)") == true, "\(locked.text)")
            // The count restarts when the lock expires.
            try await server.execute("UPDATE \"_User\" SET \"_account_lockout_expires_at\" = now() - interval '1 s'")
            #expect(try await server.send("POST", "/login", body).error == "Invalid username/password.")
        }
    }

    @Test("Remembers a limited number of unknown names; locked ones stay locked until their lockout ends")
    func bounded() {
        let accounts = UnknownAccounts(capacity: 100)
        let policy = Configuration.AccountLockout(threshold: 2, duration: 1, unlockOnPasswordReset: false)
        let now = ContinuousClock.now
        #expect(accounts.reserveAttempt(["kim"], policy, at: now) == nil)
        #expect(accounts.reserveAttempt(["kim"], policy, at: now) == nil)
        for number in 0..<1000 { _ = accounts.reserveAttempt(["n\(number)"], policy, at: now) }
        #expect(accounts.reserveAttempt(["kim"], policy, at: now) == .seconds(60))
        #expect(accounts.reserveAttempt(["", "kim"], policy, at: now) == nil)
        #expect(accounts.reserveAttempt(["kim"], policy, at: now + .seconds(61)) == nil)
        #expect(accounts.size <= 100)
    }
}
