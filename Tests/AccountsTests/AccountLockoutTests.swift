import JSON
import TestSupport
import Testing

@Suite struct AccountLockoutTests {
    private static let options: JSONObject = ["accountLockout": ["threshold": 3, "duration": 5]]
    private static let invalid = "Invalid username/password."
    private static let locked =
        "Your account is locked due to multiple failed login attempts. Please try again after 5 minute(s)"

    private static func logIn(_ server: TestServer, _ password: String, _ path: String = "/login") async throws
        -> TestAnswer
    {
        try await server.send("POST", path, ["username": "kim", "password": .string(password)])
    }

    private static func columns(_ server: TestServer) async throws -> [String?] {
        try await server.rows(
            "SELECT \"_failed_login_count\"::text, (\"_account_lockout_expires_at\" IS NOT NULL)::text FROM \"_User\"")[
                0]
    }

    @Test("Rejects even the correct password after too many wrong ones, until the lockout ends")
    func lock() async throws {
        try await TestServer.run(Self.options) { server in
            _ = try await server.signUp("kim")
            for path in ["/login", "/verifyPassword", "/login"] {
                let answer = try await Self.logIn(server, "wrong", path)
                #expect(answer.status == 404)
                #expect(answer.error == Self.invalid)
            }
            for password in ["wrong", "secret"] {
                let answer = try await Self.logIn(server, password)
                #expect(answer.status == 404)
                #expect(answer.code == 101)
                #expect(answer.error == Self.locked)
            }
            #expect(try await Self.columns(server) == ["3", "true"])
            try await server.execute("UPDATE \"_User\" SET \"_account_lockout_expires_at\" = now() - interval '1 s'")
            #expect(try await Self.logIn(server, "wrong").error == Self.invalid)
            #expect(try await Self.columns(server) == ["1", "false"])
            #expect(try await Self.logIn(server, "secret").status == 200)
            #expect(try await Self.columns(server) == ["0", "false"])
        }
    }

    @Test("Of fifty concurrent guesses in two processes, only three are checked")
    func race() async throws {
        try await TestServer.run(Self.options) { server in
            _ = try await server.signUp("kim")
            try await server.alongside(Self.options) { other in
                let answers = try await concurrently(50) { number in
                    try await Self.logIn(
                        number % 2 == 0 ? server : other, "wrong\(number)",
                        number % 3 == 0 ? "/verifyPassword" : "/login")
                }
                #expect(answers.count { $0.error == Self.invalid } == 3)
                #expect(answers.count { $0.error == Self.locked } == 47)
            }
            #expect(try await Self.columns(server) == ["3", "true"])
            #expect(try await Self.logIn(server, "secret").error == Self.locked)
        }
    }

    @Test("Of ten guesses in one batch, only three are checked")
    func batch() async throws {
        try await TestServer.run(Self.options) { server in
            _ = try await server.signUp("kim")
            let requests = (0..<10).map { number -> JSONValue in
                [
                    "method": "POST", "path": "/parse/login",
                    "body": ["username": "kim", "password": .string("wrong\(number)")],
                ]
            }
            let answer = try await server.send("POST", "/batch", ["requests": .array(requests)])
            let texts = (answer.json.arrayValue ?? []).compactMap { $0["error"]?["error"]?.stringValue }
            #expect(texts.count { $0 == Self.invalid } == 3, "\(answer.text)")
            #expect(texts.count { $0 == Self.locked } == 7)
        }
    }

    @Test("Log-ins rejected because the hashing queue is full don't count as failed attempts")
    func notCompared() async throws {
        var options = Self.options
        options["passwordHashingThreads"] = 1
        options["passwordHashingQueue"] = 1
        options["accountLockout"] = ["threshold": 100, "duration": 5]
        try await TestServer.run(options, passwordCost: 10) { server in
            _ = try await server.signUp("kim")
            let answers = try await concurrently(20) { _ in try await Self.logIn(server, "wrong") }
            let compared = answers.count { $0.error == Self.invalid }
            #expect(answers.count { $0.status == 503 } == 20 - compared, "\(answers.map(\.text))")
            #expect(compared < 20)
            #expect(try await Self.columns(server) == ["\(compared)", "false"])
        }
    }
}
