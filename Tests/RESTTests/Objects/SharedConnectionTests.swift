import JSON
import Logging
import Postgres
import TestSupport
import TestTools
import Testing

/// Database resources that a request holds while others run.
@Suite struct SharedConnectionTests {
    /// Runs `body` while another client's transaction has executed `statement` and not committed.
    private static func holding<R: Sendable>(
        _ statement: String, in server: TestServer, _ body: @Sendable (PostgresClient) async throws -> R
    ) async throws -> R {
        let other = PostgresClient(
            configuration: PostgresConfiguration(connectionString: server.databaseURI), logger: Logger(label: "test"))
        let result = await Result.awaiting {
            try await other.transaction(purpose: .administration) { session in
                _ = try await session.query(statement)
                return try await body(other)
            }
        }
        await other.shutdown()
        return try result.get()
    }

    private static func waiting(_ client: PostgresClient) async throws -> Int64 {
        try await client.query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).int(0, 0) ?? 0
    }

    @Test("Reads and writes beyond statementTimeout return 124, and the writes have no effect")
    func statementTimeout() async throws {
        try await TestServer.run(["statementTimeout": 500, "lockTimeout": 60_000]) { server in
            let song = try await server.create("Song", ["title": "a"])
            let requests: [(String, String, JSONValue?)] = [
                ("GET", "/classes/Song", nil), ("GET", "/classes/Song/\(song)", nil),
                ("GET", "/classes/Song?count=1&limit=0", nil), ("GET", "/aggregate/Song?distinct=title", nil),
                ("POST", "/classes/Song", ["title": "b"]), ("PUT", "/classes/Song/\(song)", ["title": "c"]),
                ("DELETE", "/classes/Song/\(song)", nil),
            ]
            try await server.whileLocked("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE") {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for (method, path, body) in requests {
                        tasks.addTask {
                            let answer = try await server.send(method, path, body, as: .master)
                            #expect(answer.code == 124, "\(method) \(path): \(answer.text)")
                        }
                    }
                    try await tasks.waitForAll()
                }
            }
            let found = try await server.find("Song", as: .master).succeeded().results
            #expect(found.map { $0["title"] } == ["a"])
        }
    }

    @Test("Writes that wait for a locked object don't block writes to other objects")
    func lockedObjects() async throws {
        try await TestServer.run(["lockTimeout": 30_000, "connectionTimeout": 30_000]) { server in
            let song = try await server.create("Song", ["plays": 1])
            let other = try await server.create("Song", ["plays": 1])
            let user = try await server.send("POST", "/users", ["username": "ann", "password": "secret", "age": 0])
            let userId = try #require(user["objectId"]?.stringValue)
            let locks = """
                SELECT (SELECT "objectId" FROM "Song" WHERE "objectId" = '\(song)' FOR UPDATE),
                    (SELECT "objectId" FROM "_User" WHERE "objectId" = '\(userId)' FOR UPDATE)
                """
            let change: JSONValue = ["plays": .increment(1)]
            let tasks = try await Self.holding(locks, in: server) { (client) async throws in
                let tasks = (0..<8).map { number in
                    Task {
                        switch number {
                        case 0...3: try await server.send("PUT", "/classes/Song/\(song)", change)
                        case 4...5: try await server.send("PUT", "/users/\(userId)", ["age": 1], as: .master)
                        default: try await server.send("DELETE", "/classes/Song/\(song)", as: .master)
                        }
                    }
                }
                #expect(try await eventually { try await Self.waiting(client) >= 2 })
                // The objects remain locked until these requests are complete.
                for _ in 0..<10 {
                    _ = try await server.create("Song", ["plays": 1])
                    let reply = try await server.send("PUT", "/classes/Song/\(other)", ["plays": .increment(1)])
                    #expect(reply.status == 200)
                }
                _ = try await server.send("POST", "/users", ["username": "bob", "password": "secret"])
                return tasks
            }
            for task in tasks {
                let reply = try await task.value
                #expect([200, 404].contains(reply.status), "\(reply.text)")
            }
            #expect(try await server.send("GET", "/classes/Song/\(other)")["plays"] == 11)
        }
    }

    @Test("A write to an object that stays locked beyond lockTimeout returns 124")
    func lockedForLong() async throws {
        try await TestServer.run(["lockTimeout": 200]) { server in
            let song = try await server.create("Song", ["plays": 1])
            try await Self.holding("SELECT 1 FROM \"Song\" FOR UPDATE", in: server) { _ in
                let reply = try await server.send("PUT", "/classes/Song/\(song)", ["plays": .increment(1)])
                #expect(reply.status == 400)
                #expect(reply["code"] == 124)
            }
        }
    }

    @Test("Rejects excess reads that wait for a lock with 503 and serves other requests")
    func slowReads() async throws {
        let options: JSONObject = [
            "databaseOptions": ["poolSize": 2], "connectionTimeout": 200, "lockTimeout": 60_000,
            "statementTimeout": 60_000,
        ]
        try await TestServer.run(options) { server in
            let song = try await server.create("Song", ["plays": 1])
            _ = try await server.create("Other", ["plays": 1])
            let count: JSONObject = ["count": 1, "limit": 0]
            // Any of them may be rejected: all start on the shared connections, and leave them when they prove slow.
            let (replies, ends) = AsyncThrowingStream<TestAnswer, any Error>.makeStream()
            let read: @Sendable () async -> Void = {
                do { ends.yield(try await server.find("Song", count)) } catch { ends.finish(throwing: error) }
            }
            let refused = try await Self.holding("LOCK TABLE \"Song\" IN ACCESS EXCLUSIVE MODE", in: server) { _ in
                for _ in 0..<4 { Task(operation: read) }
                var iterator = replies.makeAsyncIterator()
                let refused = try #require(try await iterator.next())
                #expect(try await server.find("Other", count)["count"] == 1)
                #expect(try await server.find("Other").status == 200)
                let batch: JSONObject = [
                    "transaction": true,
                    "requests": [["method": "POST", "path": "/parse/classes/Other", "body": ["plays": 2]]],
                ]
                #expect(try await server.send("POST", "/batch", .object(batch)).status == 200)
                return refused
            }
            #expect(refused.status == 503)
            #expect(refused["code"] == 155)
            #expect(refused.headers["retry-after"] == "2")
            var rest = replies.makeAsyncIterator()
            var statuses: [Int] = []
            for _ in 1..<4 { statuses.append(try #require(try await rest.next()).status) }
            #expect(statuses.contains(200) && statuses.allSatisfy { $0 == 200 || $0 == 503 }, "\(statuses)")
            #expect(try await server.send("GET", "/classes/Song/\(song)").status == 200)
        }
    }

    @Test("A transaction beyond transactionTimeout returns 124, is rolled back and frees its connection")
    func longTransaction() async throws {
        let options: JSONObject = ["databaseOptions": ["poolSize": 2], "transactionTimeout": 300]
        try await TestServer.run(options) { server in
            let song = try await server.create("Song", ["plays": 1])
            let batch: JSONObject = [
                "transaction": true,
                "requests": [
                    ["method": "POST", "path": "/parse/classes/Song", "body": ["plays": 2]],
                    ["method": "PUT", "path": .string("/parse/classes/Song/\(song)"), "body": ["plays": 2]],
                ],
            ]
            try await Self.holding("SELECT 1 FROM \"Song\" FOR UPDATE", in: server) { _ in
                let reply = try await server.send("POST", "/batch", .object(batch))
                #expect(reply.status == 400)
                #expect(reply["code"] == 124)
            }
            #expect(try await server.send("POST", "/batch", .object(batch)).status == 200)
            #expect(try await server.find("Song", ["count": 1, "limit": 0])["count"] == 2)
        }
    }
}
