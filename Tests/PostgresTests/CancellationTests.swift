import Postgres
import Testing

@Suite("Cancelled tasks")
struct CancellationTests {
    @Test("Cancelling a slow statement at any moment stops it and never the statement after it")
    func anyMoment() async throws {
        try await TestDatabase.run(exclusive: 2) { database in
            let client = database.client
            for round in 0..<40 {
                let task = Task { try await client.slowQuery(Statement("SELECT pg_sleep(20)")) }
                try await Task.sleep(for: .microseconds(round * 250))
                task.cancel()
                let error = try await failure { try await task.value }
                #expect(error?.kind == .cancelled)
                let next = try await client.slowQuery(Statement("SELECT pg_sleep(0.002), 3"))
                #expect(next.int(0, 1) == 3)
            }
        }
    }

    @Test("Rolls back a cancelled transaction and releases its locks before the error arrives")
    func transaction() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE t (id int8)")
            let task = Task {
                try await client.transaction { session in
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                    _ = try await session.query("SELECT pg_sleep(25) /* in transaction */")
                }
            }
            #expect(try await eventually { try await client.isRunning("* in transaction *") })
            task.cancel()
            #expect(try await failure { try await task.value }?.kind == .cancelled)
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 0)
            _ = try await client.query("DROP TABLE t")
        }
    }

    @Test("A cancelled task stops waiting for a connection")
    func waiting() async throws {
        try await TestDatabase.run(exclusive: 1) { database in
            let client = database.client
            try await client.exclusively { (_) async throws in
                let task = Task { try await client.exclusively { _ in } }
                #expect(try await eventually { client.statistics.waiting == 1 })
                task.cancel()
                #expect(try await failure { try await task.value }?.kind == .cancelled)
            }
        }
    }

    @Test("On a shared connection, a cancelled call returns at once and its result is discarded")
    func shared() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.sharedStatementTimeout = .seconds(30) }
        try await TestDatabase.run(shared: 1, configure: settings) { database in
            let client = database.client
            try await database.withSecondClient { (observer) async throws in
                let task = Task { try await client.query("SELECT pg_sleep(3)") }
                #expect(try await eventually { try await observer.isRunning("pg_sleep") })
                task.cancel()
                #expect(try await failure { try await task.value }?.kind == .cancelled)
                #expect(try await observer.isRunning("pg_sleep"))
                #expect(try await client.query("SELECT 6").int(0, 0) == 6)
            }
        }
    }
}
