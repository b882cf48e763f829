import Postgres
import Testing

@Suite("Row changes that share a transaction")
struct SharedChangesTests {
    private static func change(
        _ count: Int, on client: PostgresClient, _ statement: @escaping @Sendable (Int) -> Statement
    ) async -> [Int: Result<[PostgresResult], any Error>] {
        await withTaskGroup(of: (Int, Result<[PostgresResult], any Error>).self) { group in
            for number in 0..<count {
                group.addTask {
                    do {
                        return (
                            number, .success(try await client.change(conflictKey: "\(number)", [statement(number)]))
                        )
                    } catch {
                        return (number, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private static func insertion(_ number: Int) -> Statement {
        Statement(
            "INSERT INTO t VALUES ($1, 0) RETURNING id, pg_current_xact_id()::text", [.int(Int64(number))])
    }

    private static let table = "CREATE TABLE t (id int8 PRIMARY KEY CHECK (id % 7 <> 3), number int8)"

    @Test("Concurrent changes share transactions of up to 32, and each gets its own result")
    func together() async throws {
        try await TestDatabase.run { (database) async throws in
            _ = try await database.client.query("CREATE TABLE t (id int8, number int8)")
            let answers = await Self.change(800, on: database.client, Self.insertion)
            var members: [String: Int] = [:]
            for (number, answer) in answers {
                let result = try #require(try answer.get().first)
                #expect(result.int(0, 0) == Int64(number))
                members[result.string(0, 1) ?? "", default: 0] += 1
            }
            #expect(members.count < 200)
            #expect(members.values.allSatisfy { $0 <= 32 })
            #expect(try await database.client.query("SELECT count(*) FROM t").int(0, 0) == 800)
        }
    }

    @Test("A failing change gets its own error, and the others are executed once")
    func failures() async throws {
        try await TestDatabase.run { (database) async throws in
            _ = try await database.client.query(Self.table)
            let answers = await Self.change(400, on: database.client, Self.insertion)
            for (number, answer) in answers {
                switch answer {
                case .success(let results):
                    #expect(results.first?.int(0, 0) == Int64(number))
                    #expect(number % 7 != 3)
                case .failure(let error):
                    #expect((error as? PostgresError)?.sqlState == "23514")
                    #expect(number % 7 == 3)
                }
            }
            let kept = answers.values.count { (try? $0.get()) != nil }
            #expect(try await database.client.query("SELECT count(*) FROM t").int(0, 0) == Int64(kept))
        }
    }

    @Test("Concurrent increments of one row add up")
    func oneRow() async throws {
        try await TestDatabase.run { (database) async throws in
            _ = try await database.client.query("CREATE TABLE t AS SELECT 1::int8 AS id, 0::int8 AS number")
            let answers = await Self.change(500, on: database.client) { _ in
                Statement("UPDATE t SET number = number + 1 WHERE id = 1 RETURNING number")
            }
            let numbers = try answers.values.map { try $0.get().first?.int(0, 0) ?? 0 }
            #expect(numbers.sorted() == Array(1...500))
        }
    }

    @Test("A change that waits for a locked row blocks neither other changes nor the transaction with the lock")
    func lockedRows() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query(
                "CREATE TABLE t AS SELECT i::int8 AS id, 0::int8 AS number FROM generate_series(0, 99) i")
            let (others, locked) = try await client.transaction { session in
                _ = try await session.query("UPDATE t SET number = 100 WHERE id = 50")
                let locked = Task { await Self.change(100, on: client, Self.increment) }
                // All but one complete while the row is locked, including the first row's. If they waited together, the
                // others would keep that row locked.
                var others: Int64?
                repeat {
                    others = try await client.query("SELECT count(*) FROM t WHERE number = 1", readOnly: true).int(0, 0)
                } while others != 99
                _ = try await session.query("UPDATE t SET number = number + 10 WHERE id = 0")
                return (others, locked)
            }
            #expect(others == 99)
            for answer in await locked.value.values { #expect(try answer.get().first?.rowCount == 1) }
            let rows = try await client.query("SELECT number FROM t WHERE id IN (0, 50) ORDER BY id")
            #expect(rows.int(0, 0) == 11)
            #expect(rows.int(1, 0) == 101)
        }
    }

    private static func increment(_ number: Int) -> Statement {
        Statement("UPDATE t SET number = number + 1 WHERE id = $1 RETURNING number", [.int(Int64(number))])
    }

    /// A function that waits for a row in a table, and a sequence that counts its calls.
    private static let held = """
        CREATE TABLE t (id int8 PRIMARY KEY, number int8);
        CREATE TABLE flag (number int8);
        CREATE SEQUENCE attempt;
        CREATE FUNCTION held() RETURNS int8 LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM nextval('attempt');
            WHILE NOT EXISTS (SELECT FROM flag) LOOP PERFORM pg_sleep(0.01); END LOOP;
            RETURN 1;
        END $$;
        """

    @Test("A slow change is stopped if others wait behind it, and executed once elsewhere")
    func slow() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            try await client.execute(script: Self.held)
            let slow = Task {
                try await client.change(conflictKey: "slow", [Statement("INSERT INTO t VALUES (-1, held())")])
            }
            let isRunning = try await eventually { try await client.isRunning("held()") }
            #expect(isRunning)
            // None of them would complete if they waited for it.
            let answers = await Self.change(100, on: client, Self.insertion)
            for answer in answers.values { #expect(try answer.get().first?.rowCount == 1) }
            _ = try await client.query("INSERT INTO flag VALUES (1)")
            _ = try await slow.value
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 101)
            #expect(try await client.query("SELECT last_value FROM attempt").int(0, 0) == 2)
        }
    }

    @Test("A slow change doesn't delay the changes that share its transaction")
    func slowMember() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            try await client.execute(script: Self.held)
            let changes = Task {
                await Self.change(100, on: client) {
                    $0 == 50 ? Statement("INSERT INTO t VALUES (50, held())") : Self.insertion($0)
                }
            }
            let areDone = try await eventually {
                try await client.query("SELECT count(*) FROM t", readOnly: true).int(0, 0) == 99
            }
            #expect(areDone)
            _ = try await client.query("INSERT INTO flag VALUES (1)")
            for answer in await changes.value.values { _ = try answer.get() }
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 100)
        }
    }

    @Test("Moves an unexpectedly slow read elsewhere, or stops it at a shorter statement timeout")
    func slowRead() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            try await client.execute(script: Self.held)
            let read = Task { try await client.query("SELECT held()", readOnly: true).int(0, 0) }
            // The second execution runs on another connection.
            let isElsewhere = try await eventually {
                try await client.query("SELECT last_value FROM attempt", readOnly: true).int(0, 0) == 2
            }
            #expect(isElsewhere)
            _ = try await client.query("INSERT INTO flag VALUES (1)")
            #expect(try await read.value == 1)
        }
        try await TestDatabase.run(statementTimeout: .milliseconds(100)) { (database) async throws in
            #expect(try await database.client.query("SHOW statement_timeout").string(0, 0) == "100ms")
            let late = try await failure { try await database.client.query("SELECT pg_sleep(20)") }
            #expect(late?.sqlState == "57014")
        }
    }

    @Test("A write of more than a megabyte runs on a separate connection")
    func large() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.lockTimeout = .milliseconds(4321) }
        try await TestDatabase.run(configure: settings) { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE t (text text)")
            let sql = "INSERT INTO t VALUES ($1) RETURNING current_setting('lock_timeout')"
            for (size, isAside) in [(1_000, false), (1_100_000, true)] {
                let statement = Statement(sql, [.text(String(repeating: "x", count: size))])
                let one = try await client.query(statement).string(0, 0)
                #expect((one == "4321ms") == isAside)
                let shared = try await client.change(conflictKey: "\(size)", [statement]).first?.string(0, 0)
                #expect((shared == "4321ms") == isAside)
            }
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 4)
        }
    }

    @Test("Retries a change once if it deadlocks on a separate connection")
    func undoneAside() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            try await client.execute(
                script: """
                    CREATE TABLE t (id int8, number int8);
                    CREATE SEQUENCE attempt;
                    CREATE FUNCTION undone(times int8) RETURNS int8 LANGUAGE plpgsql AS $$
                    BEGIN
                        IF nextval('attempt') <= times THEN RAISE SQLSTATE '40P01'; END IF;
                        RETURN 7;
                    END $$;
                    """)
            @Sendable func change(_ times: Int64) async throws -> Int64? {
                let statements = [Self.insertion(1), Statement("SELECT undone($1)", [.int(times)])]
                return try await client.changeAside(conflictKey: "1", statements).last?.int(0, 0)
            }
            #expect(try await change(1) == 7)
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 1)
            #expect(try await failure { try await change(100) }?.sqlState == "40P01")
            #expect(try await client.query("SELECT last_value FROM attempt").int(0, 0) == 4)
        }
    }

    @Test("Executes each change once even if the table gets new columns meanwhile")
    func changedTables() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE t (id int8, number int8)")
            let statement: @Sendable (Int) -> Statement = { number in
                Statement("INSERT INTO t VALUES ($1, 0) RETURNING *", [.int(Int64(number))])
            }
            for round in 0..<5 {
                let answers = await Self.change(100, on: client, statement)
                for answer in answers.values { #expect(try answer.get().first?.columnCount == 2 + round) }
                _ = try await client.query("ALTER TABLE t ADD COLUMN column\(round) text")
            }
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 500)
        }
    }

    @Test("When connections break, every acknowledged change is stored and none is stored twice")
    func brokenConnections() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE t (id int8, number int8)")
            let breaker = Task {
                for _ in 0..<20 {
                    try await Task.sleep(for: .milliseconds(5))
                    try? await database.endAllConnections()
                }
            }
            var made: Set<Int64> = []
            for round in 0..<20 {
                let answers = await Self.change(100, on: client) { Self.insertion(round * 100 + $0) }
                for (number, answer) in answers where (try? answer.get()) != nil {
                    made.insert(Int64(round * 100 + number))
                }
            }
            try await breaker.value
            let rows = try await client.query("SELECT id FROM t", readOnly: true)
            let found = (0..<rows.rowCount).compactMap { rows.int($0, 0) }
            #expect(Set(found).count == found.count)
            #expect(made.isSubset(of: found))
            #expect(!made.isEmpty)
        }
    }
}
