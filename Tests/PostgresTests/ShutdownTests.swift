import Testing

@testable import Postgres

@Suite("Shutting down")
struct ShutdownTests {
    @Test("finishes what is under way, and refuses what comes later", .timeLimit(.minutes(1)))
    func drains() async throws {
        try await TestDatabase.use { database async throws in
            let client = database.client()
            try await client.start()
            let listener = Task {
                for await _ in client.listen(channels: ["c"]) {}
                return true
            }
            let slow = Task { try await client.slowQuery(Statement("SELECT pg_sleep(2), 1 AS slow")).int(0, 1) }
            let fast = Task { try await client.query("SELECT pg_sleep(2), 2 AS fast").int(0, 1) }
            let meeting = Meeting(of: 2)
            let transaction = Task {
                try await client.transaction { session in
                    _ = try await session.query("CREATE TABLE made (id int8)")
                    await meeting.arrive()
                    try await Task.sleep(for: .milliseconds(300))
                    _ = try await session.query("INSERT INTO made VALUES (1)")
                }
            }
            let other = database.client()
            let areRunning = try await eventually {
                guard try await other.isRunning("AS slow") else { return false }
                return try await other.isRunning("AS fast")
            }
            #expect(areRunning)
            await meeting.arrive()
            await client.shutdown()
            #expect(try await slow.value == 1)
            #expect(try await fast.value == 2)
            try await transaction.value
            #expect(await listener.value)

            let error = try await postgresError { _ = try await client.query("SELECT 1") }
            #expect(error.kind == .shutdown)
            #expect(try await postgresError { _ = try await client.slowQuery(Statement("SELECT 1")) }.kind == .shutdown)
            #expect(try await postgresError { try await client.start() }.kind == .shutdown)
            await client.shutdown()

            #expect(try await other.query("SELECT count(*) FROM made").int(0, 0) == 1)
            await other.shutdown()
        }
    }

    @Test("under full load gives everybody an answer", .timeLimit(.minutes(1)))
    func underLoad() async throws {
        try await TestDatabase.use { database async throws in
            let client = database.client()
            try await client.start()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<32 {
                    group.addTask {
                        do {
                            while true { _ = try await client.query("SELECT 1") }
                        } catch let error as PostgresError {
                            #expect(error.kind == .shutdown)
                        }
                    }
                    group.addTask {
                        do {
                            while true { _ = try await client.slowQuery(Statement("SELECT 1")) }
                        } catch let error as PostgresError {
                            #expect(error.kind == .shutdown)
                        }
                    }
                }
                try await Task.sleep(for: .milliseconds(300))
                await client.shutdown()
                try await group.waitForAll()
            }
        }
    }

    @Test("of a client that was never used, or is forgotten, is no trouble", .timeLimit(.minutes(1)))
    func unused() async throws {
        try await TestDatabase.use { database async throws in
            let unused = database.client()
            await unused.shutdown()
            #expect(try await postgresError { _ = try await unused.query("SELECT 1") }.kind == .shutdown)
            do {
                let forgotten = database.client()
                #expect(try await forgotten.query("SELECT 1").int(0, 0) == 1)
            }
            // Its connections close by themselves.
            let other = database.client { $0.sharedConnections = 1 }
            let isAlone = try await eventually {
                let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                return try await other.query(sql).int(0, 0) == 1
            }
            #expect(isAlone)
            await other.shutdown()
        }
    }
}
