import Postgres
import Testing

@Suite("Statements and groups of statements")
struct StatementTests {
    @Test("A group executes all its statements and returns a result for each")
    func groupSucceeds() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (a int8 PRIMARY KEY)")
            let results = try await database.client.group([
                Statement("INSERT INTO t VALUES ($1)", [.int(1)]),
                Statement("INSERT INTO t VALUES ($1), ($2)", [.int(2), .int(3)]),
                Statement("SELECT count(*) FROM t"),
            ])
            #expect(results.map(\.affectedRows) == [1, 2, 1])
            #expect(results[2].int(0, 0) == 3)
        }
    }

    @Test("A group that fails in the middle changes nothing")
    func groupFails() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (a int8 PRIMARY KEY)")
            let error = try await failure {
                try await database.client.group([
                    Statement("INSERT INTO t VALUES (1)"), Statement("INSERT INTO t VALUES (1)"),
                    Statement("INSERT INTO t VALUES (2)"),
                ])
            }
            #expect(error?.sqlState == "23505")
            let count = try await database.client.query("SELECT count(*) FROM t")
            #expect(count.int(0, 0) == 0)
        }
    }

    @Test("Concurrent groups don't affect each other when half of them fail")
    func mixedGroups() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (a int8, b int8)")
            await withTaskGroup(of: Void.self) { tasks in
                for number in 0..<100 {
                    tasks.addTask {
                        let divisor = number % 2
                        _ = try? await database.client.group([
                            Statement("INSERT INTO t VALUES ($1, 0)", [.int(Int64(number))]),
                            Statement(
                                "INSERT INTO t VALUES ($1, 1 / $2)", [.int(Int64(number)), .int(Int64(divisor))]),
                        ])
                    }
                }
            }
            let rows = try await database.client.query("SELECT count(*), count(*) FILTER (WHERE a % 2 = 0) FROM t")
            #expect(rows.int(0, 0) == 100)
            #expect(rows.int(0, 1) == 0)
        }
    }

    @Test("Every concurrent caller of a statement that can't be prepared gets its error", arguments: [false, true])
    func unpreparable(isReadOnly: Bool) async throws {
        try await TestDatabase.run(shared: 1) { database in
            let states = await withTaskGroup(of: String?.self) { tasks in
                for number in 0..<40 {
                    tasks.addTask {
                        let error = try? await failure {
                            try await database.client.query(
                                "SELECT $1::int8 FROM missing", [.int(Int64(number))], readOnly: isReadOnly)
                        }
                        return error?.sqlState
                    }
                }
                return await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(states == Array(repeating: "42P01", count: 40))
        }
    }

    @Test("Errors carry SQLSTATE, message, detail, constraint and table")
    func errors() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query(
                "CREATE TABLE people (name text NOT NULL, CONSTRAINT one_name UNIQUE (name))")
            _ = try await database.client.query("INSERT INTO people VALUES ('Ada')")
            let duplicate = try await failure {
                try await database.client.query("INSERT INTO people VALUES ($1)", [.text("Ada")])
            }
            #expect(duplicate?.kind == .server)
            #expect(duplicate?.sqlState == "23505")
            #expect(duplicate?.constraint == "one_name")
            #expect(duplicate?.table == "people")
            #expect(duplicate?.detail == "Key (name)=(Ada) already exists.")
            let missing = try await failure { try await database.client.query("INSERT INTO people VALUES (NULL)") }
            #expect(missing?.sqlState == "23502")
            let syntax = try await failure { try await database.client.query("SELEKT") }
            #expect(syntax?.sqlState == "42601")
            #expect(syntax?.message.contains("SELEKT") == true)
            let column = try await failure { try await database.client.query("SELECT nobody FROM people") }
            #expect(column?.sqlState == "42703")
            let table = try await failure { try await database.client.query("SELECT * FROM nobody") }
            #expect(table?.sqlState == "42P01")
        }
    }

    @Test("A statement that failed to prepare works once its table exists")
    func preparationFails() async throws {
        try await TestDatabase.run(shared: 1) { database in
            let sql = "SELECT a FROM later"
            #expect(try await failure { try await database.client.query(sql) }?.sqlState == "42P01")
            _ = try await database.client.query("CREATE TABLE later (a int8)")
            #expect(try await database.client.query(sql).rowCount == 0)
        }
    }

    @Test("The number of prepared statements stays within its limit, however many texts are sent")
    func cacheIsBounded() async throws {
        try await TestDatabase.run(shared: 1, preparedStatements: 8) { database in
            for number in 0..<100 {
                let row = try await database.client.query("SELECT \(number) + $1", [.int(1)])
                #expect(row.int(0, 0) == Int64(number) + 1)
                #expect(database.client.statistics.preparedStatements <= 8)
            }
            // The server's prepared statements match the client's cache.
            let held = try await database.client.query("SELECT count(*) FROM pg_prepared_statements")
            #expect((held.int(0, 0) ?? 99) <= 9)
            for number in 0..<100 {
                #expect(
                    try await database.client.query("SELECT \(number) + $1", [.int(2)]).int(0, 0) == Int64(number) + 2)
            }
        }
    }

    @Test("Groups with more statements than the cache limit still work")
    func groupBeyondCache() async throws {
        try await TestDatabase.run(preparedStatements: 8) { database in
            for _ in 0..<3 {
                let results = try await database.client.group((0..<30).map { Statement("SELECT \($0)") })
                #expect(results.map { $0.int(0, 0) } == (0..<30).map { Int64($0) })
            }
        }
    }

    @Test("A failing group is rolled back completely even if it evicts cached statements")
    func groupsAreNotTorn() async throws {
        try await TestDatabase.run(shared: 1, preparedStatements: 4) { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            for number in 0..<10 {
                let error = try await failure {
                    try await database.client.group(
                        (0..<6).map { Statement("INSERT INTO t VALUES (\(number * 10 + $0))") } + [
                            Statement("SELECT 1 / 0")
                        ])
                }
                #expect(error?.sqlState == "22012")
            }
            #expect(try await database.client.query("SELECT count(*) FROM t").int(0, 0) == 0)
        }
    }

    @Test("Statements on leased connections and in transactions work after their table changed")
    func exclusivePlansAreMadeAnew() async throws {
        try await TestDatabase.run(exclusive: 1) { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            let statement = Statement("SELECT * FROM t")
            for number in 0..<3 {
                #expect(try await database.client.slowQuery(statement).columnCount == number + 1)
                let columns = try await database.client.transaction { session in
                    _ = try await session.query("SELECT 1")
                    return try await session.query(statement).columnCount
                }
                #expect(columns == number + 1)
                _ = try await database.client.query("ALTER TABLE t ADD COLUMN c\(number) text")
            }
            let columns = try await database.client.transaction { session in
                _ = try await session.query("SELECT 1")
                return try await session.query(statement).columnCount
            }
            #expect(columns == 4)
        }
    }

    @Test("The same text works with parameters of different types")
    func typesMatter() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            for _ in 0..<3 {
                #expect(try await database.client.query("SELECT $1::text", [.int(5)]).string(0, 0) == "5")
                #expect(try await database.client.query("SELECT $1::text", [.bool(true)]).string(0, 0) == "true")
            }
        }
    }

    @Test("Prepared statements work after their table changed")
    func plansAreMadeAnew() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            _ = try await database.client.query("INSERT INTO t VALUES (1)")
            for _ in 0..<10 { _ = try await database.client.query("SELECT * FROM t", readOnly: true) }
            for (number, type) in ["text", "jsonb", "point"].enumerated() {
                _ = try await database.client.query("ALTER TABLE t ADD COLUMN c\(number) \(type)")
                let results = try await withThrowingTaskGroup(of: Int.self) { tasks in
                    for _ in 0..<20 {
                        tasks.addTask { try await database.client.query("SELECT * FROM t").columnCount }
                    }
                    return try await tasks.reduce(into: []) { $0.append($1) }
                }
                #expect(results == Array(repeating: number + 2, count: 20))
            }
            _ = try await database.client.query("ALTER TABLE t ALTER COLUMN a TYPE text")
            #expect(try await database.client.query("SELECT * FROM t").string(0, 0) == "1")
        }
    }

    @Test("500 concurrent statements on two connections each get their own result")
    func manyAtOnce() async throws {
        try await TestDatabase.run { database in
            let sum = try await withThrowingTaskGroup(of: Int64.self) { tasks in
                for number in 0..<500 {
                    tasks.addTask {
                        let row = try await database.client.query(
                            "SELECT $1, pg_sleep(0)", [.int(Int64(number))], readOnly: true)
                        #expect(row.int(0, 0) == Int64(number))
                        return row.int(0, 0) ?? 0
                    }
                }
                return try await tasks.reduce(0, +)
            }
            #expect(sum == 500 * 499 / 2)
            #expect(database.client.statistics.connections <= 2)
        }
    }

    @Test("The server stops statements that exceed the time limit with 57014")
    func timeout() async throws {
        try await TestDatabase.run(statementTimeout: .milliseconds(200)) { database in
            let shared = try await failure { try await database.client.query("SELECT pg_sleep(20)") }
            #expect(shared?.sqlState == "57014" && shared?.isTimeout == true)
            let slow = try await failure { try await database.client.slowQuery(Statement("SELECT pg_sleep(20)")) }
            #expect(slow?.sqlState == "57014" && slow?.isTimeout == true)
            #expect(try await database.client.query("SELECT 1").int(0, 0) == 1)
        }
    }
}
