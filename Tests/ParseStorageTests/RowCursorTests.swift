import Postgres
import Synchronization
import TestSupport
import Testing

@testable import ParseStorage

/// Reading all rows of a table in pieces.
@Suite struct RowCursorTests {
    private static func read(_ sql: String, resultLimit: Int, _ uri: String) async throws -> [Int64] {
        var configuration = PostgresConfiguration(connectionString: uri)
        configuration.sharedConnections = 1
        configuration.resultLimit = resultLimit
        let client = PostgresClient(configuration: configuration, logger: TestServer.quietLogger)
        let seen = Mutex<[Int64]>([])
        try await DatabaseSnapshot.hold(client) { snapshot in
            try await RowCursor(snapshot: snapshot, statement: Statement(sql)).visit { result in
                seen.withLock { seen in
                    for row in 0..<result.rowCount { seen.append(result.int(row, 0) ?? -1) }
                }
            }
        }
        await client.shutdown()
        return seen.withLock { $0 }
    }

    @Test("Each row comes once and in order, whatever their number", arguments: [0, 1, 15, 16, 17, 48, 5000])
    func counts(count: Int) async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.execute(
                "CREATE TABLE t AS SELECT i::int8 AS i FROM generate_series(1, \(count)) i", on: uri)
            let read = try await Self.read("SELECT i FROM t", resultLimit: 1 << 28, uri)
            #expect(read == (0..<count).map { Int64($0) + 1 })
        }
    }

    @Test("Large rows after small ones come once and in order where they outgrow the memory of a result")
    func burst() async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.execute(
                """
                CREATE TABLE t (i int8, x text);
                ALTER TABLE t ALTER COLUMN x SET STORAGE EXTERNAL;
                INSERT INTO t SELECT i, 'small' FROM generate_series(1, 6000) i;
                INSERT INTO t SELECT i, repeat('x', 1000000) FROM generate_series(6001, 6100) i;
                INSERT INTO t SELECT i, 'small' FROM generate_series(6101, 6500) i;
                """, on: uri)
            #expect(
                try await Self.read("SELECT i, x FROM t", resultLimit: 32 << 20, uri) == (1...6500).map { Int64($0) })
        }
    }
}
