import Limits
import Postgres
import Testing

@Suite("Shared resources held by one caller")
struct SharedResourceTests {
    private static func whileLocked<R: Sendable>(
        _ database: TestDatabase, _ rows: ClosedRange<Int>, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await database.withSecondClient { other in
            try await other.exclusively { session in
                _ = try await session.query("BEGIN")
                _ = try await session.query(
                    "SELECT id FROM t WHERE id BETWEEN \(rows.lowerBound) AND \(rows.upperBound) FOR UPDATE")
                let result = try await body()
                _ = try await session.query("ROLLBACK")
                return result
            }
        }
    }

    /// Raises the time limits of waiting above the duration of any test.
    private static func patiently(_ configuration: inout PostgresConfiguration) {
        configuration.lockTimeout = .seconds(30)
        configuration.connectionWait = .seconds(30)
        configuration.connectTimeout = .seconds(30)
    }

    private static func update(_ id: Int) -> Statement {
        Statement("UPDATE t SET number = number + 1 WHERE id = $1", [.int(Int64(id))])
    }

    private static let table = "CREATE TABLE t AS SELECT id::int8, 0::int8 AS number FROM generate_series(1, 100) AS id"

    @Test("Writers that wait for locked rows don't block other writers", arguments: [false, true])
    func lockedRows(shareTransactions: Bool) async throws {
        try await TestDatabase.run(configure: Self.patiently) { (database) async throws in
            let client = database.client
            _ = try await client.query(Self.table)
            @Sendable func write(_ id: Int) async throws {
                if shareTransactions {
                    _ = try await client.change(conflictKey: "\(id)", [Self.update(id)])
                } else {
                    _ = try await client.query(Self.update(id))
                }
            }
            let waiting = try await Self.whileLocked(database, 1...4) { () async throws in
                let waiting = (1...4).map { id in Task { try await write(id) } }
                #expect(try await eventually { try await client.isRunning("UPDATE t") })
                // The rows remain locked until these writes are complete.
                for id in 5...44 { try await write(id) }
                return waiting
            }
            for task in waiting { try await task.value }
            #expect(try await client.query("SELECT count(*) FROM t WHERE number = 1").int(0, 0) == 44)
        }
    }

    @Test("Requests for one locked row hold a single connection and leave the others for other rows")
    func oneConnectionForARow() async throws {
        try await TestDatabase.run(exclusive: 4, configure: Self.patiently) { (database) async throws in
            let client = database.client
            _ = try await client.query(Self.table)
            try await Self.whileLocked(database, 1...1) { () async throws in
                let waiting = (1...20).map { _ in Task { try? await client.change(conflictKey: "1", [Self.update(1)]) }
                }
                #expect(try await eventually { client.statistics.waiting >= 19 })
                // Of the two connections for waiting changes, one remains for a row that is locked only briefly.
                _ = try await Self.whileLocked(database, 2...2) { () async throws in
                    let other = Task { try await client.change(conflictKey: "2", [Self.update(2)]) }
                    #expect(try await eventually { try await Self.waiting(client) == 2 })
                    return other
                }.value
                for task in waiting { task.cancel() }
                for task in waiting { _ = await task.value }
            }
            #expect(try await client.query("SELECT number FROM t WHERE id = 2").int(0, 0) == 1)
        }
    }

    private static func waiting(_ client: PostgresClient) async throws -> Int64? {
        try await client.query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
            readOnly: true
        ).int(0, 0)
    }

    @Test("Waiting for a locked row fails with 55P03 after the lock timeout")
    func boundedWait() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.lockTimeout = .milliseconds(200) }
        try await TestDatabase.run(configure: settings) { (database) async throws in
            _ = try await database.client.query(Self.table)
            try await Self.whileLocked(database, 1...1) {
                let error = try await failure { try await database.client.query(Self.update(1)) }
                #expect(error?.sqlState == "55P03")
            }
        }
    }

    @Test("Slow reads and transactions don't use up each other's connections")
    func separatePools() async throws {
        try await TestDatabase.run(exclusive: 2, configure: Self.patiently) { (database) async throws in
            let client = database.client
            let sleep = Statement("SELECT 1 FROM pg_sleep(30)")
            try await withThrowingTaskGroup(of: Void.self) { (group) async throws in
                for _ in 0..<3 {
                    group.addTask { _ = try? await client.slowQuery(sleep) }
                    group.addTask { _ = try? await client.slowQuery(sleep, timeLimit: .seconds(20)) }
                    group.addTask { _ = try? await client.heavyQuery(sleep) }
                }
                #expect(try await eventually { client.statistics.inFlight >= 3 })
                try await client.transaction { session in _ = try await session.query("SELECT 1") }
                try await client.exclusively { session in _ = try await session.query("SELECT 1") }
                // They didn't wait for the others to complete.
                #expect(try await eventually { client.statistics.inFlight >= 3 })
                group.cancelAll()
            }
            try await withThrowingTaskGroup(of: Void.self) { (group) async throws in
                group.addTask { try? await client.transaction { session in _ = try await session.query(sleep) } }
                #expect(try await eventually { client.statistics.inFlight >= 1 })
                #expect(try await client.slowQuery(Statement("SELECT 1")).int(0, 0) == 1)
                #expect(client.statistics.inFlight >= 1)
                group.cancelAll()
            }
        }
    }

    @Test("A transaction that finds no free connection in time fails as busy")
    func busy() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.connectionWait = .milliseconds(200) }
        try await TestDatabase.run(exclusive: 1, configure: settings) {
            (database) async throws in
            let client = database.client
            try await client.transaction { (_) async throws in
                let error = try await failure { try await client.transaction { _ in } }
                #expect(error?.kind == .busy)
            }
        }
    }

    @Test("Stops a transaction at its timeout while a statement runs, and reuses its connection")
    func endlessTransaction() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.transactionTimeout = .milliseconds(300) }
        try await TestDatabase.run(exclusive: 1, configure: settings) {
            (database) async throws in
            let client = database.client
            _ = try await client.query(Self.table)
            let start = ContinuousClock.now
            let error = try await failure {
                try await client.transaction { session in
                    _ = try await session.query(Self.update(1))
                    _ = try await session.query("SELECT pg_sleep(60)")
                }
            }
            #expect(error?.sqlState == "57014")
            #expect(error?.kind == .server)
            // Earlier than the statement time limit of 30 seconds.
            #expect(ContinuousClock.now - start < .seconds(25))
            try await client.transaction { session in _ = try await session.query(Self.update(2)) }
            #expect(try await client.query("SELECT sum(number)::int8 FROM t").int(0, 0) == 1)
        }
    }

    @Test("The transaction timeout covers all retries of a transaction")
    func undoneForever() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.transactionTimeout = .milliseconds(300) }
        try await TestDatabase.run(exclusive: 1, configure: settings) { (database) async throws in
            let start = ContinuousClock.now
            let error = try await failure {
                try await database.client.transaction(retries: 1_000_000) { session in
                    _ = try await session.query("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
                }
            }
            #expect(error?.sqlState == "40001" || error?.sqlState == "57014")
            #expect(ContinuousClock.now - start < .seconds(60))
        }
    }

    @Test("A transaction that idles past its timeout loses its locks and its connection")
    func idleTransaction() async throws {
        let settings: (inout PostgresConfiguration) -> Void = {
            $0.transactionTimeout = .seconds(5)
            $0.connectionWait = .seconds(30)
        }
        try await TestDatabase.run(exclusive: 1, configure: settings) {
            (database) async throws in
            let client = database.client
            _ = try await client.query(Self.table)
            let error = try await failure {
                try await client.transaction { session in
                    _ = try await session.query(Self.update(1))
                    // The other transaction still has time when this one's has expired.
                    try await Task.sleep(for: .seconds(3))
                    // In the meantime, others can use the only connection and the row.
                    try await client.transaction { session in _ = try await session.query(Self.update(1)) }
                    _ = try await session.query(Self.update(1))
                }
            }
            // The client cancels it, or the server does if the client's machine is too busy.
            #expect(error?.sqlState == "57014" || error?.sqlState == "25P03", "\(String(describing: error))")
            #expect(try await client.query("SELECT sum(number)::int8 FROM t").int(0, 0) == 1)
        }
    }

    @Test("A slow read's own time limit stops it, and the next read gets its own limit")
    func limitedReads() async throws {
        try await TestDatabase.run(exclusive: 1) { (database) async throws in
            let client = database.client
            let start = ContinuousClock.now
            let error = try await failure {
                try await client.slowQuery(Statement("SELECT pg_sleep(60)"), timeLimit: .milliseconds(200))
            }
            #expect(error?.sqlState == "57014")
            #expect(ContinuousClock.now - start < .seconds(25))
            let limit = try await client.slowQuery(
                Statement("SELECT current_setting('statement_timeout')"), timeLimit: .seconds(7))
            #expect(limit.string(0, 0) == "7s")
            #expect(try await client.slowQuery(Statement("SELECT 1"), timeLimit: .seconds(7)).int(0, 0) == 1)
        }
    }

    @Test("Retries a slow read whose server process was killed")
    func killedRead() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            // The first execution takes until it is killed.
            _ = try await client.query("CREATE SEQUENCE attempt")
            async let answer = client.slowQuery(
                Statement("SELECT 42::int8 FROM pg_sleep(CASE WHEN nextval('attempt') = 1 THEN 60 ELSE 0 END)"))
            let isKilled = try await eventually {
                try await client.query(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND query LIKE 'SELECT 42%' AND wait_event = 'PgSleep'
                    """
                ).rowCount == 1
            }
            #expect(isKilled)
            #expect(try await answer.int(0, 0) == 42)
        }
    }

    /// Lets twenty callers insert twenty rows each while one change is rejected, and returns the number of
    /// transactions.
    private static func transactions(
        beside refused: @escaping @Sendable (PostgresClient) async -> Void
    ) async throws -> Int {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE c (id int8 CHECK (id >= 0))")
            await refused(client)
            var transactions: Set<String> = []
            for _ in 0..<20 {
                await withTaskGroup(of: String.self) { group in
                    for writer in 0..<20 {
                        if writer == 10 {
                            group.addTask {
                                await refused(client)
                                return ""
                            }
                        }
                        group.addTask {
                            let results = try? await client.change(
                                conflictKey: "\(writer)",
                                [Statement("INSERT INTO c VALUES (1) RETURNING pg_current_xact_id()::text")])
                            return results?.first?.string(0, 0) ?? ""
                        }
                    }
                    for await transaction in group where !transaction.isEmpty { transactions.insert(transaction) }
                }
            }
            #expect(try await client.query("SELECT count(*) FROM c").int(0, 0) == 400)
            return transactions.count
        }
    }

    @Test("A caller whose changes keep failing doesn't prevent other callers' group commits")
    func refusedCaller() async throws {
        let attacker = CallerPresence()
        let count = try await Self.transactions { client in
            await CallerPresence.$current.withValue(attacker) {
                _ = try? await client.change(conflictKey: "x", [Statement("INSERT INTO c VALUES (-1)")])
            }
        }
        #expect(count < 200)
    }

    @Test("One-time callers whose changes fail don't prevent other callers' group commits")
    func refusedCallers() async throws {
        let count = try await Self.transactions { client in
            await CallerPresence.$current.withValue(CallerPresence()) {
                _ = try? await client.change(conflictKey: "x", [Statement("INSERT INTO c VALUES (-1)")])
            }
        }
        #expect(count < 200)
    }
}
