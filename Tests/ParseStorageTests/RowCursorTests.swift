import ParseStorage
import Postgres
import Synchronization
import TestSupport
import Testing

/// Reads all rows of a table in chunks.
@Suite struct RowCursorTests {
    /// Returns the first column of all rows, and the size of the largest chunk.
    private static func read(
        _ sql: String, sizes: String? = nil, resultLimit: Int, _ uri: String
    ) async throws -> (rows: [Int64], largest: Int) {
        var configuration = PostgresConfiguration(connectionString: uri)
        configuration.sharedConnections = 1
        configuration.resultLimit = resultLimit
        let client = PostgresClient(configuration: configuration, logger: TestServer.quietLogger)
        let seen = Mutex<(rows: [Int64], largest: Int)>(([], 0))
        try await DatabaseSnapshot.hold(client) { snapshot in
            let cursor = RowCursor(statement: Statement(sql), sizes: sizes.map { Statement($0) })
            try await cursor.visit(snapshot) { result in
                seen.withLock { seen in
                    seen.largest = max(seen.largest, result.size)
                    for row in 0..<result.rowCount { seen.rows.append(result.int(row, 0) ?? -1) }
                }
            }
        }
        await client.shutdown()
        return seen.withLock { $0 }
    }

    @Test("Reads each row once and in order, whatever the row count", arguments: [0, 1, 1023, 1024, 1025, 2048, 5000])
    func counts(count: Int) async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.execute(
                "CREATE TABLE t AS SELECT i::int8 AS i FROM generate_series(1, \(count)) i", on: uri)
            for sizes in [nil, "SELECT 1::int8 FROM t", "SELECT (i * 1000)::int8 FROM t", "SELECT 9999999999 FROM t"] {
                let read = try await Self.read("SELECT i FROM t", sizes: sizes, resultLimit: 1 << 28, uri)
                #expect(read.rows == (0..<count).map { Int64($0) + 1 }, "\(sizes ?? "-")")
            }
        }
    }

    @Test("Reads each row once and in order if large rows after small ones exceed the result limit")
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
            let expected = (1...6500).map { Int64($0) }
            #expect(try await Self.read("SELECT i, x FROM t", resultLimit: 32 << 20, uri).rows == expected)
            // If the row sizes are known, a chunk contains only a few large rows.
            let sizes = "SELECT octet_length(x)::int8 FROM t"
            let read = try await Self.read("SELECT i, x FROM t", sizes: sizes, resultLimit: 1 << 30, uri)
            #expect(read.rows == expected && read.largest < 8 << 20, "\(read.largest)")
        }
    }
}
