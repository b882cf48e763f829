import JSON
import Synchronization
import TestSupport
import Testing

/// Fair sharing of the expensive password hashing.
@Suite struct PasswordQueueTests {
    private static let options: JSONObject = ["passwordHashingThreads": 1, "trustProxy": true]

    private static func logIn(_ server: TestServer, _ password: String = "secret", from address: String) async throws
        -> TestAnswer
    {
        try await server.send(
            "POST", "/login", ["username": "kim", "password": .string(password)],
            headers: ["X-Forwarded-For": address])
    }

    /// Sends ten log-ins with a wrong password in one request.
    private static func batch(_ server: TestServer, from address: String) async throws -> TestAnswer {
        let login: JSONValue = [
            "method": "POST", "path": "/parse/login", "body": ["username": "kim", "password": "wrong"],
        ]
        return try await server.send(
            "POST", "/batch", ["requests": .array([JSONValue](repeating: login, count: 10))],
            headers: ["X-Forwarded-For": address])
    }

    private final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { value.load(ordering: .relaxed) }
        func increment() { value.add(1, ordering: .relaxed) }
    }

    @Test("A log-in doesn't wait for another sender's sixty queued log-ins")
    func fairness() async throws {
        try await TestServer.run(Self.options, passwordCost: 9) { server in
            _ = try await server.signUp("kim")
            let done = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        let answer = try await Self.batch(server, from: "10.0.0.1")
                        #expect(answer.json.arrayValue?.count == 10, "\(answer.text)")
                        done.increment()
                    }
                }
                // At least one of these overlaps with all of the others.
                for _ in 0..<3 { #expect(try await Self.logIn(server, from: "10.0.0.2").status == 200) }
                #expect(done.count == 0)
                try await group.waitForAll()
            }
        }
    }

    @Test("Skips hashing for log-ins whose client has disconnected")
    func abandoned() async throws {
        var options = Self.options
        options["accountLockout"] = ["threshold": 999, "duration": 1]
        try await TestServer.run(options, passwordCost: 10) { server in
            _ = try await server.signUp("kim")
            // Attempts are counted before hashing. Those that are never hashed are subtracted again.
            func counted() async throws -> Int {
                Int(try await server.texts("SELECT COALESCE(\"_failed_login_count\", 0)::text FROM \"_User\"")[0]) ?? 0
            }
            let crowd = (0..<6).map { _ in Task { try await Self.batch(server, from: "10.0.0.1") } }
            #expect(try await eventually { try await counted() == 60 })
            for task in crowd { task.cancel() }
            for task in crowd { _ = try? await task.value }
            #expect(try await eventually(within: .seconds(60)) { try await counted() <= 50 })
        }
    }

    @Test("Rejects a flood of log-ins with 503 and Retry-After, while other senders can still log in")
    func fullQueue() async throws {
        var options = Self.options
        options["passwordHashingQueue"] = 4
        try await TestServer.run(options, passwordCost: 10) { server in
            _ = try await server.signUp("kim")
            try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                for _ in 0..<30 { group.addTask { try await Self.logIn(server, "wrong", from: "10.0.0.1") } }
                var refused: [TestAnswer] = []
                var isFirst = true
                while let answer = try await group.next() {
                    #expect(answer.status == 503 || answer.code == 101, "\(answer.text)")
                    if answer.status == 503 { refused.append(answer) }
                    // While the queue is full.
                    if isFirst { #expect(try await Self.logIn(server, from: "10.0.0.2").status == 200) }
                    isFirst = false
                }
                #expect(refused.count >= 10)
                let answer = try #require(refused.first)
                #expect(answer.code == 155)
                #expect(answer.headers["retry-after"].flatMap { Int($0) } ?? 0 > 0)
            }
        }
    }

    @Test("Rejects batches of more than 10 log-ins, sign-ups or password changes without the master key")
    func batches() async throws {
        try await TestServer.run { server in
            let kim = try await server.signUp("kim")
            func batch(
                _ count: Int, as identity: TestServer.Identity = .anonymous, _ element: (Int) -> JSONObject
            ) async throws -> TestAnswer {
                let requests = (0..<count).map { JSONValue.object(element($0)) }
                return try await server.send("POST", "/batch", ["requests": .array(requests)], as: identity)
            }
            func call(_ method: String, _ path: String, _ body: JSONValue) -> JSONObject {
                ["method": .string(method), "path": .string("/parse" + path), "body": body]
            }
            let secret: JSONValue = ["username": "kim", "password": "secret"]
            let dear: [@Sendable (Int) -> JSONObject] = [
                { _ in ["method": "POST", "path": "/parse/login", "body": secret] },
                { _ in ["method": "POST", "path": "/parse/LogIn/", "body": secret] },
                { _ in ["method": "GET", "path": "/parse/login?username=kim&password=secret"] },
                { _ in ["method": "POST", "path": "/parse/verifyPassword", "body": secret] },
                {
                    [
                        "method": "POST", "path": "/parse/users",
                        "body": ["username": .string("u\($0)"), "password": "p"],
                    ]
                },
                {
                    [
                        "method": "POST", "path": "/parse/classes/_User",
                        "body": ["username": .string("v\($0)"), "password": "p"],
                    ]
                },
                { _ in ["method": "PUT", "path": .string("/parse/users/\(kim.id)"), "body": ["password": "p"]] },
                { _ in ["method": "PUT", "path": .string("/parse/classes/_User/\(kim.id)"), "body": ["password": "p"]]
                },
            ]
            for element in dear {
                let refused = try await batch(11, element)
                #expect(refused.status == 400)
                #expect(refused.code == 107)
                #expect(refused.error?.contains("exceeds the limit of 10") == true, "\(refused.text)")
            }
            let mixed = try await batch(12) { $0 < 6 ? dear[0]($0) : dear[4]($0) }
            #expect(mixed.code == 107)
            #expect(try await server.rows("SELECT \"username\" FROM \"_User\"") == [["kim"]])
            let few = try await batch(10, dear[4])
            #expect(few.json.arrayValue?.allSatisfy { $0["success"]?["sessionToken"] != nil } == true, "\(few.text)")
            let cheap = try await batch(50) { call("POST", "/classes/Song", ["n": .number(Double($0))]) }
            #expect(cheap.json.arrayValue?.allSatisfy { $0["success"]?["objectId"] != nil } == true)
            let own = try await batch(20, as: .session(kim.token)) {
                call("PUT", "/users/\(kim.id)", ["n": .number(Double($0))])
            }
            #expect(own.json.arrayValue?.allSatisfy { $0["success"] != nil } == true)
            // Migrations use the master key, which has no limit.
            let moved = try await batch(20, as: .master, dear[5])
            #expect(moved.json.arrayValue?.allSatisfy { $0["success"] != nil } == true, "\(moved.text)")
        }
    }

    @Test("Sign-ups and password changes in transactions follow the password policy and permissions")
    func transactions() async throws {
        let options: JSONObject = ["passwordPolicy": ["maxPasswordHistory": 3, "doNotAllowUsername": true]]
        try await TestServer.run(options) { server in
            let kim = try await server.signUp("kim")
            func together(_ requests: [JSONValue], as identity: TestServer.Identity) async throws -> TestAnswer {
                try await server.send(
                    "POST", "/batch", ["transaction": true, "requests": .array(requests)], as: identity)
            }
            let answer = try await together(
                [
                    ["method": "POST", "path": "/parse/users", "body": ["username": "lou", "password": "hidden"]],
                    [
                        "method": "PUT", "path": .string("/parse/users/\(kim.id)"), "body": ["password": "better"],
                    ],
                ], as: .session(kim.token))
            #expect(answer.json.arrayValue?.count == 2, "\(answer.text)")
            for (name, password) in [("lou", "hidden"), ("kim", "better")] {
                let login = try await server.send(
                    "POST", "/login", ["username": .string(name), "password": .string(password)])
                #expect(login.status == 200)
            }
            let token = try await server.send("POST", "/login", ["username": "kim", "password": "better"])
                .string("sessionToken")
            for password in ["secret", "better", "kimkim"] {
                let refused = try await together(
                    [
                        [
                            "method": "PUT", "path": .string("/parse/users/\(kim.id)"),
                            "body": ["password": .string(password)],
                        ]
                    ],
                    as: .session(token))
                #expect(refused.code == 142, "\(password): \(refused.text)")
            }
            let lou = try await server.texts("SELECT \"objectId\" FROM \"_User\" WHERE \"username\" = 'lou'")
            let foreign = try await together(
                [["method": "PUT", "path": .string("/parse/users/\(lou[0])"), "body": ["password": "hidden"]]],
                as: .session(token))
            // The error must not reveal whether it was a previous password.
            #expect(foreign.code == 206, "\(foreign.text)")
        }
    }
}
