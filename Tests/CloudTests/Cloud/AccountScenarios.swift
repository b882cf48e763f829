import JSON
import TestSupport
import Testing

extension CloudScenario {
    /// Sign-ups and log-ins. The beforeSave trigger of users sets `seen` to whether a password is present, and adds 1
    /// to `saves`. The beforeLogin trigger rejects users whose `nick` is `barred` with `no`. The afterLogin trigger
    /// fails with `too late` for users whose `nick` is `late`.
    static let accounts: [CloudScenario] = [
        CloudScenario(48, "_User") { server async throws in
            let user: JSONValue = ["username": "login-eve", "password": "p", "nick": "barred"]
            let signedUp = try await server.send("POST", "/users", user)
            #expect(signedUp.status == 201)
            #expect(signedUp["seen"] == true)
            #expect(signedUp["sessionToken"] != nil)
        },
        CloudScenario(49, "_User") { server async throws in
            _ = try await server.signUp("login-bob", password: "p", ["nick": "barred"])
            let before = try await sessions(server)
            let refused = try await server.send("POST", "/login", ["username": "login-bob", "password": "p"])
            #expect(refused.status == 400)
            #expect(refused.json == ["code": 141, "error": "no"])
            #expect(try await sessions(server) == before)
            _ = try await server.signUp("login-kim", password: "p")
            #expect(try await server.send("POST", "/login", ["username": "login-kim", "password": "p"]).status == 200)
        },
        CloudScenario(50, "_User") { server async throws in
            _ = try await server.signUp("login-lea", password: "p", ["nick": "late"])
            let before = try await sessions(server)
            let refused = try await server.send("POST", "/login", ["username": "login-lea", "password": "p"])
            #expect(refused.json == ["code": 141, "error": "too late"])
            #expect(try await sessions(server) == before + 1)
        },
        CloudScenario(51, "_User") { server async throws in
            func logIn(_ nick: String) async throws -> TestAnswer {
                let device: JSONValue = ["anonymous": ["id": .string("login-\(nick)")]]
                return try await server.send("POST", "/users", ["authData": device, "nick": .string(nick)])
            }
            // A log-in through a sign-up request calls neither beforeSave nor afterLogin triggers.
            #expect(try await logIn("late").status == 201)
            let known = try await logIn("late")
            #expect(known.status == 200)
            #expect(known["saves"] == 1)
            // It does call beforeLogin triggers.
            #expect(try await logIn("barred").status == 201)
            #expect(try await logIn("barred").json == ["code": 141, "error": "no"])
        },
    ]

    private static func sessions(_ server: TestServer) async throws -> Int {
        try await server.find("_Session", ["limit": 1000], as: .master).results.count
    }
}
