import Limits
import Postgres
import TestTools
import Testing

@Suite("Memory limits for results")
struct ResultLimitTests {
    /// Much smaller than the result, because memory freed by other tests hides some of the growth.
    private static func lowLimit(_ configuration: inout PostgresConfiguration) {
        configuration.resultLimit = 8 * 1024 * 1024
    }

    private static func patiently(_ configuration: inout PostgresConfiguration) {
        configuration.connectionWait = .seconds(60)
        configuration.sharedStatementTimeout = .seconds(20)
    }

    private static func limit(_ configuration: inout PostgresConfiguration) {
        configuration.resultLimit = 32 * 1024 * 1024
    }

    /// 300 MB, which PostgreSQL generates quickly.
    private static let large = Statement("SELECT repeat('x', 3000000) FROM generate_series(1, 100)")

    @Test("Stops a read that exceeds the memory limit, and executes concurrent requests exactly once")
    func shared() async throws {
        try await TestDatabase.run(shared: 1, configure: Self.lowLimit) { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE note (number int8)")
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for round in 0..<3 {
                    tasks.addTask {
                        let error = try await failure { try await client.query(Self.large, readOnly: true) }
                        #expect(error?.kind == .tooLarge, "\(String(describing: error))")
                    }
                    for number in 0..<20 {
                        tasks.addTask {
                            let place = Int64(round * 20 + number)
                            _ = try await client.query(
                                Statement("INSERT INTO note VALUES ($1)", [.int(place)]))
                            #expect(try await client.query("SELECT 7::int8", readOnly: true).int(0, 0) == 7)
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            let notes = try await client.query("SELECT count(*), count(DISTINCT number) FROM note")
            #expect(notes.int(0, 0) == 60)
            #expect(notes.int(0, 1) == 60)
        }
    }

    @Test("Stops oversized slow reads and transaction statements, and keeps their connections usable")
    func lent() async throws {
        try await TestDatabase.run(exclusive: 2, configure: Self.lowLimit) { (database) async throws in
            let client = database.client
            for _ in 0..<2 {
                let slow = try await failure { try await client.slowQuery(Self.large) }
                #expect(slow?.kind == .tooLarge, "\(String(describing: slow))")
                let inside = try await failure {
                    try await client.transaction { session in try await session.query(Self.large) }
                }
                #expect(inside?.kind == .tooLarge, "\(String(describing: inside))")
            }
            #expect(try await client.slowQuery(Statement("SELECT 7::int8")).int(0, 0) == 7)
            let eight = try await client.transaction { session in try await session.query("SELECT 8::int8") }
            #expect(eight.int(0, 0) == 8)
        }
    }

    @Test("Memory that other code allocates doesn't stop a small read")
    func innocent() async throws {
        try await TestDatabase.run(configure: Self.limit) { (database) async throws in
            // Two megabytes within half a second. The first rows arrive immediately.
            let statement = Statement(
                "SELECT repeat('x', 50000), pg_sleep(0.0125) FROM generate_series(1, 40)")
            async let rows = database.client.query(statement, readOnly: true).rowCount
            var held: [[UInt8]] = []
            for number in 0..<20 {
                held.append([UInt8](repeating: UInt8(number), count: 8 << 20))
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try await rows == 40)
            #expect(held.count == 20)
        }
    }

    @Test("After one sender's large result, another sender's small ones soon lower the expected size")
    func senders() throws {
        let history = ReadHistory()
        let shape = ReadShape(try EncodedStatement(Statement("SELECT 1")).key, maxRows: 100, leadsToMore: false)
        func note(_ bytes: Int, from address: String) -> Int {
            CallerPresence.$current.withValue(CallerPresence(sender: Sender(address: address))) {
                history.record(bytes: bytes, of: shape)
            }
            return history.expectation(of: shape, maxRows: 100, leadsToMore: false).bytes
        }
        #expect(note(400 << 20, from: "192.0.2.1") == RowBudget.capacity)
        // The sender's next result may be as large.
        for _ in 0..<4 { #expect(note(1_000, from: "192.0.2.1") > PostgresClient.maxSharedBytes) }
        #expect(note(400 << 20, from: "192.0.2.1") == RowBudget.capacity)
        let others = (0..<4).map { _ in note(1_000, from: "198.51.100.7") }
        #expect(others.last.map { $0 < PostgresClient.maxSharedBytes } == true, "\(others)")
    }

    @Test("A result of 20 MB arrives complete")
    func usual() async throws {
        try await TestDatabase.run { (database) async throws in
            let statement = Statement("SELECT repeat('x', 1000000) FROM generate_series(1, 20)")
            #expect(try await database.client.query(statement).rowCount == 20)
        }
    }

    @Test("After a large row, reads of its class avoid shared connections until another caller's row is small")
    func newLargeRows() async throws {
        try await TestDatabase.run(configure: Self.patiently) { (database) async throws in
            let client = database.client
            // Only shared connections have this limit.
            try await client.execute(
                script: """
                    CREATE SEQUENCE tries;
                    CREATE FUNCTION tried() RETURNS bool LANGUAGE sql AS $$
                        SELECT current_setting('statement_timeout') = '20s' AND nextval('tries') > 0
                    $$;
                    """)
            /// The number of times that a row is read on a shared connection.
            @Sendable func tries(_ bytes: Int64, of className: String = "Song", by host: Int) async throws -> Int64 {
                let before = try await client.query("SELECT nextval('tries')").int(0, 0) ?? 0
                let statement = Statement("SELECT tried(), repeat('x', $1::int8::int4)", [.int(bytes)])
                let caller = CallerPresence(sender: Sender(address: "192.0.2.\(host)"))
                _ = try await CallerPresence.$current.withValue(caller) {
                    try await client.row(statement, of: className)
                }
                return (try await client.query("SELECT last_value FROM tries").int(0, 0) ?? 0) - before
            }
            #expect(try await tries(8_000_000, by: 1) == 1)
            for new in 1...3 as ClosedRange<Int64> { #expect(try await tries(8_000_000 + new, by: 1) == 0) }
            #expect(try await tries(1, by: 1) == 0)
            #expect(try await tries(8_000_004, by: 2) == 0)
            #expect(try await tries(2, by: 3) == 0)
            #expect(try await tries(3, by: 3) == 1)
            #expect(try await tries(4, of: "Album", by: 1) == 1)
        }
    }

    @Test("After a large row, expects large rows for the same caller but not for other callers")
    func largeReader() throws {
        let history = ReadHistory()
        func expected(_ key: Int64, by host: Int, size: Int? = nil) throws -> Int {
            try CallerPresence.$current.withValue(CallerPresence(sender: Sender(address: "192.0.2.\(host)"))) {
                let statement = try EncodedStatement(Statement("SELECT $1", [.int(key)]))
                let shape = ReadShape(row: statement, origin: ReadOrigin("Song"))
                if let size { history.record(bytes: size, of: shape) }
                return history.expectation(of: shape, maxRows: 1, leadsToMore: false).bytes
            }
        }
        #expect(try expected(1, by: 1) < PostgresClient.maxSharedBytes)
        #expect(try expected(2, by: 1, size: 3_000_000) == 3_000_000)
        #expect(try expected(3, by: 1) > RowBudget.maxSmallBytes)
        #expect(try expected(4, by: 2) <= PostgresClient.maxSharedBytes)
    }

    @Test("A large row doesn't make small rows of its kind wait for memory, unless memory is full")
    func smallBesideLarge() async throws {
        try await TestDatabase.run(configure: Self.patiently) { (database) async throws in
            let client = database.client
            func row(_ bytes: Int64) -> Statement { Statement("SELECT repeat('x', $1::int8::int4)", [.int(bytes)]) }
            func shape(_ bytes: Int64) throws -> ReadShape { ReadShape(row: try EncodedStatement(row(bytes))) }
            func expected(_ bytes: Int64) throws -> Int {
                client.history.expectation(of: try shape(bytes), maxRows: 1, leadsToMore: false).bytes
            }
            for _ in 0..<2 { #expect(try await client.row(row(8_000_000)).string(0, 0)?.utf8.count == 8_000_000) }
            #expect(try expected(8_000_000) >= 8_000_000)
            let isSmallBarred = client.history.isBarred(try shape(1), isSearch: false, memoryIsFull: false)
            try #require(!isSmallBarred)
            let reservation = try await client.rows.reserve(RowBudget.capacity)
            let caller = CallerPresence()
            let waits = Task {
                try await CallerPresence.$current.withValue(caller) { try await client.row(row(8_000_000)) }
            }
            for bytes in 1...20 as ClosedRange<Int64> {
                #expect(try await client.row(row(bytes)).string(0, 0)?.utf8.count == Int(bytes))
            }
            caller.leave()
            #expect(try await failure { try await waits.value }?.kind == .cancelled)
            // If memory is full, it waits for the amount that a shared connection may use.
            #expect(client.history.isBarred(try shape(21), isSearch: false, memoryIsFull: true))
            #expect(try expected(21) <= PostgresClient.maxSharedBytes)
            reservation.release()
            #expect(try await client.row(row(8_000_000)).string(0, 0)?.utf8.count == 8_000_000)
            #expect(try await eventually { client.rows.used == 0 })
        }
    }
}
