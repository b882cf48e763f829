import Postgres
import Testing

@Suite("Transactions and leased connections")
struct TransactionTests {
    private struct Refusal: Error {}

    @Test("A transaction commits when its body ends, and others see its changes only then")
    func commits() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            try await database.client.transaction { session in
                _ = try await session.query("INSERT INTO t VALUES (1)")
                #expect(try await session.query("SELECT count(*) FROM t").int(0, 0) == 1)
                #expect(try await database.client.query("SELECT count(*) FROM t").int(0, 0) == 0)
            }
            #expect(try await database.client.query("SELECT count(*) FROM t").int(0, 0) == 1)
        }
    }

    @Test("A body that throws rolls its transaction back, and its error reaches the caller")
    func rollsBack() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            await #expect(throws: Refusal.self) {
                try await database.client.transaction { session in
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                    throw Refusal()
                }
            }
            #expect(try await database.client.query("SELECT count(*) FROM t").int(0, 0) == 0)
        }
    }

    @Test("A failing statement rolls its transaction back and leaves the connection usable")
    func serverErrors() async throws {
        try await TestDatabase.run(exclusive: 1) { database in
            _ = try await database.client.query("CREATE TABLE t (a int8 PRIMARY KEY)")
            let error = try await failure {
                try await database.client.transaction { session in
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                    _ = try await session.query("INSERT INTO t VALUES (1)")
                }
            }
            #expect(error?.sqlState == "23505")
            let count = try await database.client.transaction { try await $0.query("SELECT count(*) FROM t").int(0, 0) }
            #expect(count == 0)
        }
    }

    @Test("Rolls back a transaction left open on a leased connection before the next lease")
    func leftOpen() async throws {
        try await TestDatabase.run(exclusive: 1) { database in
            _ = try await database.client.query("CREATE TABLE t (a int8)")
            try await database.client.exclusively { session in
                _ = try await session.query("BEGIN")
                _ = try await session.query("INSERT INTO t VALUES (1)")
            }
            let count = try await database.client.exclusively { try await $0.query("SELECT count(*) FROM t").int(0, 0) }
            #expect(count == 0)
        }
    }

    @Test("Retries a serialization failure until both transactions have committed in sequence")
    func serialization() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (name text, value int8)")
            _ = try await database.client.query("INSERT INTO t VALUES ('a', 0), ('b', 0)")
            let (runs, reading) = (Counter(), Counter())
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (reads, writes) in [("a", "b"), ("b", "a")] {
                    tasks.addTask {
                        try await database.client.transaction(isolation: .serializable) { session in
                            let run = runs.add(1)
                            let row = try await session.query("SELECT value FROM t WHERE name = $1", [.text(reads)])
                            // The first runs of both transactions overlap.
                            _ = reading.add(1)
                            if run <= 2 { _ = try await eventually { reading.value >= 2 } }
                            _ = try await session.query(
                                "UPDATE t SET value = $1 WHERE name = $2",
                                [.int((row.int(0, 0) ?? 0) + 1), .text(writes)])
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(runs.value >= 3)
            // The second transaction reads what the first wrote, so the values are 1 and 2, never 1 and 1.
            let sum = try await database.client.query("SELECT sum(value)::int8 FROM t")
            #expect(sum.int(0, 0) == 3)
        }
    }

    @Test("Retries a deadlock until both transactions have committed")
    func deadlock() async throws {
        try await TestDatabase.run { database in
            _ = try await database.client.query("CREATE TABLE t (id int8, value int8)")
            _ = try await database.client.query("INSERT INTO t VALUES (1, 0), (2, 0)")
            let (runs, holding) = (Counter(), Counter())
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (first, second) in [(1, 2), (2, 1)] {
                    tasks.addTask {
                        try await database.client.transaction { session in
                            let run = runs.add(1)
                            let sql = "UPDATE t SET value = value + 1 WHERE id = $1"
                            _ = try await session.query(sql, [.int(Int64(first))])
                            if run <= 2 {
                                // Both hold the lock of their first row.
                                holding.add(1)
                                _ = try await eventually { holding.value == 2 }
                            }
                            _ = try await session.query(sql, [.int(Int64(second))])
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(runs.value >= 3)
            #expect(try await database.client.query("SELECT sum(value)::int8 FROM t").int(0, 0) == 4)
        }
    }

    @Test("A serialization failure reaches the caller when the retries are used up")
    func retriesEnd() async throws {
        try await TestDatabase.run { database in
            let runs = Counter()
            let error = try await failure {
                try await database.client.transaction(retries: 2) { session in
                    runs.add(1)
                    _ = try await session.query("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
                }
            }
            #expect(error?.sqlState == "40001")
            #expect(runs.value == 3)
        }
    }

    @Test("Transactions wait for a connection instead of exceeding their limit")
    func laneIsBounded() async throws {
        let settings: (inout PostgresConfiguration) -> Void = { $0.connectionWait = .seconds(10) }
        try await TestDatabase.run(exclusive: 6, configure: settings) { database in
            let most = Counter()
            let open = Counter()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<30 {
                    tasks.addTask {
                        try await database.client.transaction { session in
                            let now = open.add(1)
                            most.raise(to: now)
                            _ = try await session.query("SELECT pg_sleep(0.01)")
                            open.add(-1)
                        }
                    }
                }
                try await tasks.waitForAll()
            }
            #expect(most.value <= 3)
            #expect(most.value > 1)
        }
    }
}
