import Testing

@testable import Postgres

@Suite("Prepared statements")
struct StatementCacheTests {
    @Test("are found again by text and types, and bounded in number on both sides", .timeLimit(.minutes(1)))
    func bounded() async throws {
        try await TestDatabase.configured {
            $0.sharedConnections = 1
            $0.preparedStatementLimit = 10
        }.withClient { client, _ async throws in
            for number in 0..<50 {
                #expect(try await client.query("SELECT \(number), $1", [.int(1)]).int(0, 0) == Int64(number))
            }
            // While a new one is prepared, the one that gives way is still there.
            let count = "SELECT count(*) FROM pg_prepared_statements"
            #expect(try await client.query(count).int(0, 0) ?? 0 <= 11)
            #expect(client.statistics.preparedStatements <= 10)
            // The same text with other types is another statement.
            #expect(try await client.query("SELECT $1", [.text("a")]).string(0, 0) == "a")
            #expect(try await client.query("SELECT $1", [.int(4)]).int(0, 0) == 4)
            // What is used again and again stays.
            for number in 0..<30 {
                _ = try await client.query("SELECT 'kept'")
                _ = try await client.query("SELECT \(number)")
            }
            let kept = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT ''kept''' "
            #expect(try await client.query(kept).int(0, 0) == 1)
        }
    }

    @Test("beyond the limit within one group still work", .timeLimit(.minutes(1)))
    func groupBeyondLimit() async throws {
        try await TestDatabase.configured {
            $0.sharedConnections = 1
            $0.preparedStatementLimit = 2
        }.withClient { client, _ async throws in
            let statements = (0..<20).map { Statement("SELECT \($0 % 7)") }
            let results = try await client.group(statements)
            #expect(results.map { $0.int(0, 0) } == (0..<20).map { Int64($0 % 7) })
            let count = try await client.query("SELECT count(*) FROM pg_prepared_statements")
            #expect(count.int(0, 0) ?? 0 <= 3)
        }
    }

    @Test("whose plan no longer fits the table are prepared anew unseen", .timeLimit(.minutes(1)))
    func planInvalidation() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            _ = try await client.query("CREATE TABLE t (id int8, name text)")
            _ = try await client.query("INSERT INTO t VALUES (1, 'a')")
            let read = Statement("SELECT * FROM t WHERE id = $1", [.int(1)])
            for _ in 0..<10 { _ = try await client.query(read) }
            _ = try await client.exclusively { session in try await session.query(read) }

            _ = try await client.query("ALTER TABLE t ADD COLUMN extra text DEFAULT 'new'")
            #expect(try await client.query(read).columnCount == 3)
            _ = try await client.query("ALTER TABLE t ALTER COLUMN name TYPE varchar(10)")
            let results = try await client.group([
                Statement("INSERT INTO t VALUES ($1)", [.int(2)]), read, Statement("SELECT count(*) FROM t"),
            ])
            #expect(results[1].columnType(1) == PostgresType.varchar.rawValue)
            // Sent twice, but kept once.
            #expect(results[2].int(0, 0) == 2)

            let columns = try await client.exclusively { session in try await session.query(read).columnCount }
            #expect(columns == 3)
            _ = try await client.query("ALTER TABLE t DROP COLUMN extra")
            let inTransaction = try await client.transaction { session in
                _ = try await session.query("INSERT INTO t VALUES (3)")
                return try await session.query(read).columnCount
            }
            #expect(inTransaction == 2)
            #expect(try await client.query("SELECT count(*) FROM t WHERE id = 3").int(0, 0) == 1)
        }
    }

    @Test("are prepared anew when the session has lost them", .timeLimit(.minutes(1)))
    func lost() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            try await client.exclusively { session async throws in
                #expect(try await session.query("SELECT 5").int(0, 0) == 5)
                _ = try await session.query("DEALLOCATE ALL")
                #expect(try await session.query("SELECT 5").int(0, 0) == 5)
            }
        }
    }
}
