import Postgres
import Testing

@Suite("Requests on shared connections")
struct SharedPoolTests {
    @Test("A failing group doesn't affect other requests, whichever of its statements fails", arguments: [false, true])
    func neighbours(readOnly: Bool) async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            let client = database.client
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        // Every seventh group divides by zero, in one of its three statements.
                        let fails = number % 7 == 0
                        let statements = (0..<3).map { place in
                            let divisor: Int64 = fails && number % 3 == place ? 0 : 1
                            return Statement("SELECT $1 / $2", [.int(Int64(number)), .int(divisor)])
                        }
                        let results = try? await client.group(statements, readOnly: readOnly)
                        #expect(
                            results?.map { $0.int(0, 0) } == (fails ? nil : Array(repeating: Int64(number), count: 3)))
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await client.query("").rowCount == 0)
            #expect(client.statistics.preparedStatements <= 2)
        }
    }

    @Test("Rejects statements that would affect other requests on the connection")
    func refused() async throws {
        try await TestDatabase.run { (database) async throws in
            for sql in ["BEGIN", " rollback", "Commit;", "LISTEN x", "COPY pg_class TO STDOUT", "savepoint s"] {
                let error = try await failure { try await database.client.query(sql) }
                #expect(error?.sqlState == "0A000")
            }
            #expect(try await database.client.query("SELECT 1").int(0, 0) == 1)
        }
    }

    @Test("Reads don't wait for writes, however many are in flight")
    func readsBesideWrites() async throws {
        let settings: (inout PostgresConfiguration) -> Void = {
            $0.sharedLockTimeout = .seconds(120)
            $0.sharedStatementTimeout = .seconds(120)
            $0.statementTimeout = .seconds(120)
        }
        try await TestDatabase.run(shared: 4, configure: settings) {
            (database) async throws in
            let client = database.client
            let writes = try await client.exclusively { session in
                _ = try await session.query("SELECT pg_advisory_lock(9)")
                let writes = (0..<12).map { _ in
                    Task { _ = try await client.query("SELECT pg_advisory_xact_lock(9)::text") }
                }
                while try await session.query("SELECT 1 FROM pg_locks WHERE NOT granted").rowCount < 3 {}
                let reads = (0..<100).map { number in
                    Task { try await client.query("SELECT $1", [.int(number)], readOnly: true).int(0, 0) }
                }
                let watch = Task {
                    try await Task.sleep(for: .seconds(100))
                    for read in reads { read.cancel() }
                }
                for (number, read) in reads.enumerated() { #expect(try await read.value == Int64(number)) }
                watch.cancel()
                _ = try await session.query("SELECT pg_advisory_unlock(9)")
                return writes
            }
            for write in writes { try await write.value }
        }
    }

    @Test("Retries a request after a serialization failure")
    func conflicts() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            try await client.execute(
                script: """
                    CREATE SEQUENCE tries;
                    CREATE FUNCTION fail_twice() RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN
                        IF nextval('tries') < 3 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END IF;
                        RETURN 42;
                    END $$;
                    """)
            #expect(try await client.query("SELECT fail_twice()").int(0, 0) == 42)
        }
    }

    @Test("A group that is resent because a table changed takes effect once")
    func groupsAreKeptOnce() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE t (id int8)")
            let group = [Statement("INSERT INTO t VALUES ($1)", [.int(1)]), Statement("SELECT * FROM t")]
            for _ in 0..<8 { _ = try await client.group(group) }
            _ = try await client.query("ALTER TABLE t ADD COLUMN name text")
            for _ in 0..<8 { #expect(try await client.group(group)[1].columnCount == 2) }
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 16)
        }
    }

    @Test("Prepares statements again after their session lost them")
    func lostStatements() async throws {
        try await TestDatabase.run { database in
            try await database.client.exclusively { (session) async throws in
                #expect(try await session.query("SELECT 5").int(0, 0) == 5)
                _ = try await session.query("DEALLOCATE ALL")
                #expect(try await session.query("SELECT 5").int(0, 0) == 5)
            }
        }
    }

    @Test("Rejects values that PostgreSQL can't store instead of truncating them")
    func refusedValues() async throws {
        try await TestDatabase.run { (database) async throws in
            func sqlState(_ parameter: PostgresParameter) async throws -> String? {
                try await failure { try await database.client.query("SELECT $1", [parameter]) }?.sqlState
            }
            #expect(try await sqlState(.text("a\0b")) == "22021")
            #expect(try await sqlState(.timestamp(milliseconds: .max)) == "22008")
            #expect(try await sqlState(.timestamp(milliseconds: .min)) == "22008")
            #expect(try await sqlState(.jsonb(Array("{".utf8))) == "22P02")
            #expect(try await failure { try await database.client.query("SELECT 1\0, 2") }?.sqlState == "42601")
        }
    }

    @Test("Results stay readable after shutdown, and values outside their rows and columns are NULL")
    func outsideOfResults() async throws {
        try await TestDatabase.run { database in
            let result = try await database.client.query("SELECT 1")
            await database.client.shutdown()
            #expect(result.isNull(1, 0))
            #expect(result.string(0, 5) == nil)
            #expect(result.columnName(9) == "")
            #expect(result.int(0, 0) == 1)
        }
    }

    @Test("Three concurrent 20 MB parameters and 100,000 rows arrive complete")
    func bigValues() async throws {
        try await TestDatabase.run { database in
            let text = String(repeating: "0123456789abcdef", count: 20 * 1024 * 1024 / 16)
            // Both sides write before the other has read everything.
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        let result = try await database.client.query("SELECT $1 || 'z'", [.text(text)])
                        let isWhole = result.withBytes(0, 0) { $0.count == text.utf8.count + 1 && $0.last == 122 }
                        return isWhole && result.string(0, 0) == text + "z"
                    }
                }
                for try await isWhole in group { #expect(isWhole) }
            }
            let rows = try await database.client.query("SELECT i, 'row ' || i FROM generate_series(1, 100000) i")
            #expect(rows.rowCount == 100_000 && rows.columnCount == 2)
            #expect(rows.string(99_999, 1) == "row 100000")
        }
    }
}
