import Postgres
import Testing

@Suite("What callers share, and one of them holds")
struct SharedResourceTests {
    /// Holds locks on rows of `t` in a transaction of its own while `body` runs.
    private static func whileLocked<R: Sendable>(
        _ database: TestDatabase, _ rows: ClosedRange<Int>, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await database.client.exclusively { session in
            _ = try await session.query("BEGIN")
            _ = try await session.query(
                "SELECT id FROM t WHERE id BETWEEN \(rows.lowerBound) AND \(rows.upperBound) FOR UPDATE")
            let result = try await body()
            _ = try await session.query("ROLLBACK")
            return result
        }
    }

    private static func update(_ id: Int) -> Statement {
        Statement("UPDATE t SET number = number + 1 WHERE id = $1", [.int(Int64(id))])
    }

    private static let table = "CREATE TABLE t AS SELECT id::int8, 0::int8 AS number FROM generate_series(1, 100) AS id"

    @Test("Writers of rows that somebody has locked do not stop the writers of others")
    func lockedRows() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query(Self.table)
            let waiting = try await Self.whileLocked(database, 1...4) {
                let waiting = (1...4).map { id in Task { _ = try await client.query(Self.update(id)) } }
                try await Task.sleep(for: .milliseconds(100))
                let start = ContinuousClock.now
                for id in 5...44 { _ = try await client.query(Self.update(id)) }
                #expect(ContinuousClock.now - start < .seconds(2))
                return waiting
            }
            for task in waiting { try await task.value }
            #expect(try await client.query("SELECT sum(number) FROM t").string(0, 0) != nil)
            #expect(try await client.query("SELECT count(*) FROM t WHERE number = 1").int(0, 0) == 44)
        }
    }

    @Test("Who waits for a row that stays locked is told so in bounded time")
    func boundedWait() async throws {
        try await TestDatabase.run(configure: { $0.lockTimeout = .milliseconds(200) }) { (database) async throws in
            _ = try await database.client.query(Self.table)
            try await Self.whileLocked(database, 1...1) {
                let error = try await failure { try await database.client.query(Self.update(1)) }
                #expect(error?.sqlState == "55P03")
            }
        }
    }

    @Test("Slow reads of some callers leave transactions their connections, and these leave slow reads theirs")
    func separatePools() async throws {
        try await TestDatabase.run(exclusive: 2) { (database) async throws in
            let client = database.client
            let sleep = Statement("SELECT 1 FROM pg_sleep(3)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask { _ = try? await client.slowQuery(sleep) }
                    group.addTask { _ = try? await client.slowQuery(sleep, timeLimit: .seconds(2)) }
                    group.addTask { _ = try? await client.heavyQuery(sleep) }
                }
                try await Task.sleep(for: .milliseconds(200))
                let start = ContinuousClock.now
                try await client.transaction { session in _ = try await session.query("SELECT 1") }
                try await client.exclusively { session in _ = try await session.query("SELECT 1") }
                #expect(ContinuousClock.now - start < .seconds(2))
                group.cancelAll()
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await client.transaction { session in _ = try await session.query(sleep) } }
                try await Task.sleep(for: .milliseconds(200))
                let start = ContinuousClock.now
                #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1)
                #expect(ContinuousClock.now - start < .seconds(2))
                group.cancelAll()
            }
        }
    }

    @Test("Who finds all connections taken is told so in bounded time")
    func busy() async throws {
        try await TestDatabase.run(exclusive: 1, configure: { $0.connectionWait = .milliseconds(200) }) {
            (database) async throws in
            let client = database.client
            try await client.transaction { (_) async throws in
                let error = try await failure { try await client.transaction { _ in } }
                #expect(error?.kind == .busy)
            }
        }
    }

    @Test(
        "A transaction that takes too long is broken off, whether it works or idles, and its connection serves the next"
    )
    func endlessTransaction() async throws {
        try await TestDatabase.run(exclusive: 1, configure: { $0.transactionTimeout = .milliseconds(300) }) {
            (database) async throws in
            let client = database.client
            _ = try await client.query(Self.table)
            for idles in [false, true] {
                let start = ContinuousClock.now
                let error = try await failure {
                    try await client.transaction { session in
                        _ = try await session.query(Self.update(1))
                        if idles { try await Task.sleep(for: .milliseconds(600)) }
                        _ = try await session.query("SELECT pg_sleep(\(idles ? 0 : 20))")
                    }
                }
                #expect(["57014", "25P03"].contains(error?.sqlState ?? "") || error?.kind == .connectionLost)
                #expect(ContinuousClock.now - start < .seconds(5))
            }
            try await client.transaction { session in _ = try await session.query(Self.update(2)) }
            #expect(try await client.query("SELECT sum(number)::int8 FROM t").int(0, 0) == 1)
        }
    }

    @Test("A read that gets little time is stopped after it, and the next one on its connection has the usual time")
    func limitedReads() async throws {
        try await TestDatabase.run(exclusive: 1) { (database) async throws in
            let client = database.client
            let start = ContinuousClock.now
            let error = try await failure {
                try await client.slowQuery(Statement("SELECT pg_sleep(20)"), timeLimit: .milliseconds(200))
            }
            #expect(error?.sqlState == "57014")
            #expect(ContinuousClock.now - start < .seconds(5))
            let limit = try await client.slowQuery(
                Statement("SELECT current_setting('statement_timeout')"), timeLimit: .seconds(7))
            #expect(limit.string(0, 0) == "7s")
            #expect(try await client.slowQuery(Statement("SELECT 1"), timeLimit: .seconds(7)).int(0, 0) == 1)
        }
    }

    @Test("A slow read whose process of the server is killed is asked once more")
    func killedRead() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            async let answer = client.slowQuery(Statement("SELECT 42::int8 FROM pg_sleep(0.5)"))
            var killed: Int64 = 0
            for _ in 0..<100 where killed == 0 {
                killed =
                    try await client.query(
                        """
                        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                        WHERE datname = current_database() AND query LIKE 'SELECT 42%' AND state = 'active'
                        """
                    ).int(0, 0) ?? 0
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(killed == 1)
            #expect(try await answer.int(0, 0) == 42)
        }
    }

    @Test("A caller whose changes are refused again and again does not make all others send theirs twice")
    func refusedCaller() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE c (id int8 CHECK (id >= 0))")
            let attacker = CallerPresence()
            @Sendable func attack() async {
                await CallerPresence.$current.withValue(attacker) {
                    _ = try? await client.change(row: "x", [Statement("INSERT INTO c VALUES (-1)")])
                }
            }
            await attack()
            var transactions: Set<String> = []
            let rounds = 20
            let writers = 20
            for _ in 0..<rounds {
                await withTaskGroup(of: String.self) { group in
                    group.addTask {
                        await attack()
                        return ""
                    }
                    for writer in 0..<writers {
                        group.addTask {
                            let results = try? await client.change(
                                row: "\(writer)",
                                [Statement("INSERT INTO c VALUES (1) RETURNING pg_current_xact_id()::text")])
                            return results?.first?.string(0, 0) ?? ""
                        }
                    }
                    for await transaction in group where !transaction.isEmpty { transactions.insert(transaction) }
                }
            }
            #expect(transactions.count < rounds * writers / 2)
            #expect(try await client.query("SELECT count(*) FROM c").int(0, 0) == Int64(rounds * writers))
        }
    }
}
