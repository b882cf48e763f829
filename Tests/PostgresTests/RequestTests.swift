import Testing

@testable import Postgres

@Suite("Requests")
struct RequestTests {
    @Test("of a group are kept all or not at all", .timeLimit(.minutes(1)))
    func groups() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            _ = try await client.query("CREATE TABLE t (id int8 PRIMARY KEY, name text)")
            let insert = "INSERT INTO t VALUES ($1, $2)"
            let error = try await postgresError {
                _ = try await client.group([
                    Statement(insert, [.int(1), .text("one")]), Statement(insert, [.int(2), .text("two")]),
                    Statement(insert, [.int(1), .text("again")]), Statement("SELECT count(*) FROM t"),
                ])
            }
            #expect(error.sqlState == "23505")
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 0)

            let results = try await client.group([
                Statement(insert, [.int(1), .text("one")]), Statement(insert, [.int(2), .text("two")]),
                Statement("UPDATE t SET name = upper(name)"), Statement("SELECT name FROM t ORDER BY id"),
            ])
            #expect(results.map(\.affectedRows) == [1, 1, 2, 2])
            #expect(results[3].string(1, 0) == "TWO")
            #expect(try await client.group([]).isEmpty)
        }
    }

    @Test("that fail tell SQLSTATE, table, column and constraint", .timeLimit(.minutes(1)))
    func errors() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            _ = try await client.query("CREATE TABLE t (id int8 CONSTRAINT t_key UNIQUE, name text NOT NULL)")
            _ = try await client.query("INSERT INTO t VALUES (1, 'a')")
            let duplicate = try await postgresError { _ = try await client.query("INSERT INTO t VALUES (1, 'b')") }
            #expect(duplicate.kind == .server)
            #expect(duplicate.sqlState == "23505")
            #expect(duplicate.constraint == "t_key")
            #expect(duplicate.table == "t")
            #expect(duplicate.detail?.contains("already exists") == true)
            let null = try await postgresError { _ = try await client.query("INSERT INTO t VALUES (2, NULL)") }
            #expect(null.sqlState == "23502")
            #expect(null.column == "name")
            let syntax = try await postgresError { _ = try await client.query("SELEC 1") }
            #expect(syntax.sqlState == "42601")
        }
    }

    @Test("leave their neighbours on the same connection alone when they fail", .timeLimit(.minutes(1)))
    func neighbours() async throws {
        try await TestDatabase.configured { $0.sharedConnections = 1 }.withClient { client, _ async throws in
            let outcomes = try await withThrowingTaskGroup(of: (Int, Int64?).self) { group in
                for number in 0..<2000 {
                    group.addTask {
                        // Every seventh divides by zero.
                        let divisor: Int64 = number % 7 == 0 ? 0 : 1
                        let result = try? await client.query(
                            "SELECT $1 / $2", [.int(Int64(number)), .int(divisor)])
                        return (number, result?.int(0, 0))
                    }
                }
                return try await group.reduce(into: [Int: Int64?]()) { $0[$1.0] = $1.1 }
            }
            for number in 0..<2000 {
                #expect(outcomes[number] == .some(number % 7 == 0 ? nil : Int64(number)))
            }
            #expect(client.statistics.preparedStatements <= 1)
        }
    }

    @Test("that would disturb others are refused on shared connections", .timeLimit(.minutes(1)))
    func refused() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            for sql in ["BEGIN", " rollback", "Commit;", "LISTEN x", "COPY pg_class TO STDOUT", "savepoint s"] {
                let error = try await postgresError { _ = try await client.query(sql) }
                #expect(error.sqlState == "0A000")
            }
            #expect(try await client.query("SELECT 1").int(0, 0) == 1)
        }
    }

    @Test("that run too long are stopped by the server", .timeLimit(.minutes(1)))
    func statementTimeout() async throws {
        try await TestDatabase.configured {
            $0.statementTimeout = .milliseconds(200)
            $0.connectionString += "?options=-c%20work_mem%3D5MB"
        }.withClient { client, _ async throws in
            let error = try await postgresError { _ = try await client.query("SELECT pg_sleep(5)") }
            #expect(error.sqlState == "57014")
            #expect(error.kind == .server)
            // The connection string's own options hold beside it.
            #expect(try await client.query("SHOW work_mem").string(0, 0) == "5MB")
            #expect(try await client.query("SHOW application_name").string(0, 0) == "roost")
        }
    }

    @Test("that are empty, or fail in a group at any place, do not confuse what follows", .timeLimit(.minutes(1)))
    func order() async throws {
        try await TestDatabase.configured { $0.sharedConnections = 1 }.withClient { client, _ async throws in
            #expect(try await client.query("").rowCount == 0)
            for place in 0..<3 {
                let statements = (0..<3).map {
                    $0 == place ? Statement("SELECT 1 / 0, \(place)") : Statement("SELECT \($0)")
                }
                let error = try await postgresError { _ = try await client.group(statements) }
                #expect(error.sqlState == "22012")
                #expect(try await client.query("SELECT 0").int(0, 0) == 0)
                #expect(try await client.query("SELECT 2").int(0, 0) == 2)
            }
        }
    }
}
