import Limits
import Postgres
import Testing

@Suite("Potentially slow or large reads")
struct SearchTests {
    private static let one = PostgresClient.Search(maxRows: 1)
    private static let hundred = PostgresClient.Search(maxRows: 100)

    /// 8 MB, which PostgreSQL generates quickly.
    private static let large = Statement("SELECT repeat('x', 100000) FROM generate_series(1, 80)")

    private static func asSender<R: Sendable>(
        _ address: String, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await CallerPresence.$current.withValue(CallerPresence(sender: Sender(address: address)), operation: body)
    }

    /// Raises the time limit of waiting above the duration of any test.
    private static func patiently(_ configuration: inout PostgresConfiguration) {
        configuration.connectionWait = .seconds(60)
    }

    @Test("Moves a slow read off its shared connection; the next of its shape no longer starts there")
    func slow() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE SEQUENCE attempt")
            let statement = Statement("SELECT nextval('attempt'), pg_sleep(0.5)")
            for attempts in [2, 3, 4] {
                _ = try await client.search(statement, Self.one)
                #expect(try await client.query("SELECT last_value FROM attempt").int(0, 0) == Int64(attempts))
            }
        }
    }

    @Test("Many concurrent slow reads don't keep other reads waiting")
    func beside() async throws {
        try await TestDatabase.run(configure: Self.patiently) { (database) async throws in
            let client = database.client
            let done = Counter()
            let reads = try await database.whileLocked { (_) async throws in
                // Each has a different shape, so none is known.
                let reads = (0..<24).map { number in
                    Task {
                        defer { done.add(1) }
                        return try await client.search(
                            Statement("SELECT \(TestDatabase.waiting), \(number)::int8"), Self.one
                        ).int(0, 1)
                    }
                }
                // All of them are still waiting, and reads behind them would be, too.
                for _ in 0..<50 {
                    let seven = try await client.query("SELECT 7::int8", readOnly: true).int(0, 0)
                    #expect(seven == 7)
                    try await Task.sleep(for: .milliseconds(5))
                }
                #expect(done.value == 0)
                return reads
            }
            for (number, read) in reads.enumerated() { #expect(try await read.value == Int64(number)) }
        }
    }

    @Test("After a slow read, its caller's reads of the class avoid shared connections, whatever their text")
    func newTexts() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE SEQUENCE attempt")
            let search = PostgresClient.Search(of: "Song", maxRows: 1)
            /// The number of times that a new statement is sent before it completes.
            @Sendable func attempts(_ text: String, _ seconds: Double) async throws -> Int64 {
                let before = try await client.query("SELECT nextval('attempt')").int(0, 0) ?? 0
                _ = try await client.search(
                    Statement("SELECT nextval('attempt'), pg_sleep(\(seconds)), '\(text)'"), search)
                return (try await client.query("SELECT last_value FROM attempt").int(0, 0) ?? 0) - before
            }
            try await Self.asSender("192.0.2.1") {
                let first = try await attempts("a", 0.5)
                #expect(first == 2)
                for text in ["b", "c", "d"] {
                    let count = try await attempts(text, 0.5)
                    #expect(count == 1)
                }
                let quick = try await attempts("quick", 0)
                #expect(quick == 1)
            }
            let known = ReadShape(
                try EncodedStatement(Statement("SELECT nextval('attempt'), pg_sleep(0.0), 'quick'")).key, maxRows: 1,
                leadsToMore: false, origin: ReadOrigin("Song"))
            #expect(!client.history.isBarred(known, isSearch: true, memoryIsFull: false))
            let other = try await Self.asSender("192.0.2.2") { try await attempts("e", 0.5) }
            #expect(other == 2)
        }
    }

    @Test("Tries at most half of many concurrent reads with new statement text on shared connections")
    func unknown() async throws {
        try await TestDatabase.run(configure: Self.patiently) { (database) async throws in
            let client = database.client
            let shared = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<32 {
                    group.addTask {
                        let statement = Statement(
                            "SELECT current_setting('statement_timeout'), pg_sleep(0.02), \(number)")
                        // Only shared connections have such a short limit.
                        if try await client.search(statement, Self.one).string(0, 0) == "200ms" { shared.add(1) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(shared.value <= 16, "\(shared.value)")
        }
    }

    @Test("Reads smaller results of unknown shapes while large ones take the whole memory budget")
    func smallBesideLarge() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            let reservation = try await client.rows.reserve(RowBudget.capacity)
            let rows = Statement("SELECT repeat('x', 1000) FROM generate_series(1, 100)")
            #expect(try await client.search(rows, Self.hundred).rowCount == 100)
            // More than a shared connection may read.
            let larger = Statement("SELECT repeat('x', 15000) FROM generate_series(1, 100)")
            #expect(try await client.search(larger, Self.hundred).rowCount == 100)
            let including = PostgresClient.Search(maxRows: 100, leadsToMore: true)
            #expect(try await client.search(rows, including).rowCount == 100)
            reservation.release()
        }
    }

    @Test("Reads of a shape that became quick again return to shared connections")
    func quickAgain() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            let sql = "SELECT pg_sleep($1)"
            _ = try await client.search(Statement(sql, [.double(0.5)]), Self.one)
            let statement = Statement(sql, [.double(0)])
            let shape = ReadShape(try EncodedStatement(statement).key, maxRows: 1, leadsToMore: false)
            #expect(client.history.isBarred(shape, isSearch: true, memoryIsFull: false))
            let isQuick = try await eventually {
                _ = try await client.search(statement, Self.one)
                return !client.history.isBarred(shape, isSearch: true, memoryIsFull: false)
            }
            #expect(isQuick)
        }
    }

    @Test("A failing read doesn't affect reads sent in the same batch")
    func errors() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            // Reads with a known shape are sent together.
            _ = try await database.client.search(Statement("SELECT 60 / $1::int8", [.int(1)]), Self.one)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let statement = Statement("SELECT 60 / $1::int8", [.int(Int64(number % 6))])
                        do {
                            let rows = try await database.client.search(statement, Self.one)
                            #expect(rows.int(0, 0) == Int64(60 / (number % 6)))
                        } catch let error as PostgresError {
                            #expect(number % 6 == 0)
                            #expect(error.sqlState == "22012")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Concurrent large results stay within the memory budget, and all arrive complete")
    func budget() async throws {
        try await TestDatabase.run(configure: Self.patiently) { (database) async throws in
            try await Self.expectBudget(database.client) { client in
                let result = try await client.search(Self.large, Self.hundred)
                #expect(result.rowCount == 80)
                return result
            }
        }
    }

    /// Holds sixteen concurrent results, each for 20 ms, and expects that they stay within the memory budget.
    private static func expectBudget(
        _ client: PostgresClient, _ read: @escaping @Sendable (PostgresClient) async throws -> PostgresResult
    ) async throws {
        let (held, most) = (Counter(), Counter())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let result = try await read(client)
                    most.raise(to: held.add(result.size))
                    try await Task.sleep(for: .milliseconds(20))
                    held.add(-result.size)
                    withExtendedLifetime(result) {}
                }
            }
            try await group.waitForAll()
        }
        #expect(most.value < RowBudget.capacity + 16_000_000, "\(most.value)")
        #expect(try await eventually { client.rows.used == 0 })
    }

    @Test("Concurrent large rows read by key stay within the memory budget, and all arrive complete")
    func rows() async throws {
        try await TestDatabase.run(configure: Self.patiently) { (database) async throws in
            let client = database.client
            #expect(try await client.row(Statement("SELECT 7::int8")).int(0, 0) == 7)
            #expect(!client.history.knowsLargeRows)
            try await Self.expectBudget(client) { client in
                let result = try await client.row(Statement("SELECT repeat('x', 8000000)"))
                #expect(result.string(0, 0)?.utf8.count == 8_000_000)
                return result
            }
            #expect(client.history.knowsLargeRows)
        }
    }

    @Test("A read of unknown shape with a high row limit waits for memory; a known small read doesn't")
    func waiting() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            let small = Statement("SELECT 7::int8")
            _ = try await client.search(small, Self.hundred)
            let reservation = try await client.rows.reserve(RowBudget.capacity)
            let caller = CallerPresence()
            let waits = Task {
                try await CallerPresence.$current.withValue(caller) {
                    try await client.search(
                        Statement("SELECT 8::int8"), PostgresClient.Search(maxRows: 100_000))
                }
            }
            #expect(try await client.search(small, Self.hundred).int(0, 0) == 7)
            caller.leave()
            let error = try await failure { try await waits.value }
            #expect(error?.kind == .cancelled)
            reservation.release()
            #expect(client.rows.used == 0)
        }
    }

    @Test("Memory for a result's included objects counts until the result is released")
    func besides() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            do {
                let search = PostgresClient.Search(maxRows: 1, leadsToMore: true)
                let result = try await client.search(Statement("SELECT 1"), search)
                result.hold(with: 3_000_000)
                #expect(client.rows.used > 3_000_000)
                result.release()
                #expect(client.rows.used == 0)
                result.hold(with: 4_000_000)
                #expect(client.rows.used == 0)
            }
        }
    }

    @Test("Follow-up reads for a result don't wait for memory and return all their rows")
    func more() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            let reservation = try await client.rows.reserve(RowBudget.capacity)
            for _ in 0..<3 {
                let results = try await client.searchMore([Statement("SELECT 7::int8"), Self.large], maxRows: 100)
                #expect(results.map(\.rowCount) == [1, 80])
            }
            #expect(try await client.searchMore([], maxRows: 0).isEmpty)
            reservation.release()
        }
    }

    @Test("Replaces a connection that carried a large value, because it would keep the memory")
    func swollen() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.sharedStatementTimeout = .seconds(30) }
        try await TestDatabase.run(shared: 1, exclusive: 1, configure: settings) { (database) async throws in
            let client = database.client
            let number = Statement("SELECT pg_backend_pid()::int8")
            let long = String(repeating: "x", count: 3_000_000)
            let shared = try await client.query(number).int(0, 0)
            _ = try await client.query(Statement("SELECT length($1)", [.text(long)]), readOnly: true)
            #expect(try await eventually { try await client.query(number).int(0, 0) != shared })
            let before = try await client.query(number).int(0, 0)
            _ = try await client.query(Statement("SELECT repeat('x', 3000000)"))
            #expect(try await eventually { try await client.query(number).int(0, 0) != before })
            let lent = try await client.slowQuery(number).int(0, 0)
            #expect(try await client.slowQuery(number).int(0, 0) == lent)
            _ = try await client.slowQuery(Statement("SELECT repeat('x', 3000000)"))
            #expect(try await client.slowQuery(number).int(0, 0) != lent)
            #expect(client.statistics.reconnects == 0)
        }
    }

    @Test("Senders take turns on the connections for slow reads")
    func turns() async throws {
        try await TestDatabase.run(exclusive: 2, configure: Self.patiently) { (database) async throws in
            let client = database.client
            let done = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await Self.asSender("192.0.2.1") {
                            _ = try await client.slowQuery(Statement("SELECT pg_sleep(0.1)"))
                        }
                        done.add(1)
                    }
                }
                #expect(try await eventually { client.statistics.waiting >= 10 })
                let before = done.value
                _ = try await Self.asSender("192.0.2.2") { try await client.slowQuery(Statement("SELECT 1")) }
                #expect(done.value - before < 10)
                try await group.waitForAll()
            }
        }
    }

    @Test("One sender leaves a slow-read connection to others, and cancelled reads leave the queue")
    func share() async throws {
        try await TestDatabase.run(exclusive: 8, configure: Self.patiently) { (database) async throws in
            let client = database.client
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        try? await Self.asSender("192.0.2.1") {
                            _ = try await client.slowQuery(Statement("SELECT pg_sleep(25)"))
                        }
                    }
                }
                #expect(try await eventually { client.statistics.inFlight == 3 && client.statistics.waiting == 9 })
                _ = try await Self.asSender("192.0.2.2") { try await client.slowQuery(Statement("SELECT 1")) }
                // None of the others has completed.
                #expect(try await eventually { client.statistics.inFlight == 3 && client.statistics.waiting == 9 })
                group.cancelAll()
                #expect(try await eventually { client.statistics.waiting == 0 })
            }
        }
    }

    @Test("Plans a statement with a long list for the list's values on every execution")
    func longLists() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query(
                "CREATE TABLE t AS SELECT 'v' || i AS name FROM generate_series(1, 2000) AS i")
            let list = (0..<20_000).map { "w\($0)" }
            let statement = Statement(
                "SELECT count(*) FROM t WHERE NOT COALESCE(name = ANY($1), FALSE)", [.textArray(list)])
            var times: [Duration] = []
            for _ in 0..<8 {
                let start = ContinuousClock.now
                #expect(try await client.query(statement, readOnly: true).int(0, 0) == 2000)
                times.append(ContinuousClock.now - start)
            }
            let (first, last) = (times.prefix(5).max() ?? .zero, times.suffix(3).min() ?? .zero)
            #expect(last < first * 5, "\(times)")
            #expect(client.statistics.preparedStatements <= 2)
        }
    }
}
