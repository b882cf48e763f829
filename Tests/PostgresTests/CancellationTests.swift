import Testing

@testable import Postgres

@Suite("Cancelled tasks")
struct CancellationTests {
    @Test("stop their slow statement on the server", .timeLimit(.minutes(1)))
    func slowQuery() async throws {
        try await TestDatabase.configured { $0.exclusiveConnections = 1 }.withClient { client, _ async throws in
            let task = Task { try await client.slowQuery(Statement("SELECT pg_sleep(25) /* slow */")) }
            #expect(try await eventually { try await client.isRunning("* slow *") })
            let clock = ContinuousClock()
            let duration = try await clock.measure {
                task.cancel()
                let error = try await postgresError { _ = try await task.value }
                #expect(error.kind == .cancelled)
            }
            #expect(duration < .seconds(10))
            #expect(try await client.isRunning("* slow *") == false)
            // The connection serves others, undisturbed.
            for _ in 0..<20 { #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1) }
        }
    }

    @Test("stop it at any moment, and never anybody else's", .timeLimit(.minutes(2)))
    func anyMoment() async throws {
        try await TestDatabase.configured { $0.exclusiveConnections = 2 }.withClient { client, _ async throws in
            for round in 0..<40 {
                let task = Task { try await client.slowQuery(Statement("SELECT pg_sleep(20)")) }
                try await Task.sleep(for: .microseconds(round * 250))
                task.cancel()
                let error = try await postgresError { _ = try await task.value }
                #expect(error.kind == .cancelled)
                #expect(try await client.slowQuery(Statement("SELECT pg_sleep(0.002), 3")).int(0, 1) == 3)
            }
        }
    }

    @Test("undo their transaction", .timeLimit(.minutes(1)))
    func transaction() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            _ = try await client.query("CREATE TABLE t (id int8)")
            let task = Task {
                try await client.transaction { session in
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                    _ = try await session.query("SELECT pg_sleep(25) /* in transaction */")
                }
            }
            #expect(try await eventually { try await client.isRunning("* in transaction *") })
            task.cancel()
            let error = try await postgresError { try await task.value }
            #expect(error.kind == .cancelled)
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 0)
            _ = try await client.query("DROP TABLE t")
        }
    }

    @Test("leave the queue for a connection", .timeLimit(.minutes(1)))
    func waiting() async throws {
        try await TestDatabase.configured { $0.exclusiveConnections = 1 }.withClient { client, _ async throws in
            try await client.exclusively { _ in
                let task = Task { try await client.slowQuery(Statement("SELECT 1")) }
                try await Task.sleep(for: .milliseconds(50))
                task.cancel()
                let error = try await postgresError { _ = try await task.value }
                #expect(error.kind == .cancelled)
            }
        }
    }

    @Test("go on at once on shared connections; the answer is thrown away", .timeLimit(.minutes(1)))
    func shared() async throws {
        try await TestDatabase.configured { $0.sharedConnections = 1 }.withClient { client, database async throws in
            let observer = database.client()
            let task = Task { try await client.query("SELECT pg_sleep(3)") }
            #expect(try await eventually { try await observer.isRunning("pg_sleep") })
            task.cancel()
            let error = try await postgresError { try await task.value }
            #expect(error.kind == .cancelled)
            #expect(try await observer.isRunning("pg_sleep"))
            #expect(try await client.query("SELECT 6").int(0, 0) == 6)
            await observer.shutdown()
        }
    }
}
