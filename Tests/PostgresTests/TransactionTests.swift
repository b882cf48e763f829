import Synchronization
import Testing

@testable import Postgres

@Suite("Transactions")
struct TransactionTests {
    private struct Refusal: Error {}

    /// Counts across tasks.
    private final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { value.load(ordering: .relaxed) }
        func increment() { value.add(1, ordering: .relaxed) }
    }

    private static func withCounters(_ body: (PostgresClient) async throws -> Void) async throws {
        try await TestDatabase.withClient { client, _ async throws in
            _ = try await client.query("CREATE TABLE counters (id int8 PRIMARY KEY, value int8)")
            _ = try await client.query("INSERT INTO counters VALUES (1, 0), (2, 0)")
            try await body(client)
        }
    }

    private static func value(_ id: Int64, _ client: PostgresClient) async throws -> Int64? {
        try await client.query("SELECT value FROM counters WHERE id = $1", [.int(id)]).int(0, 0)
    }

    @Test("commit what the closure did, and undo it when the closure throws", .timeLimit(.minutes(1)))
    func commitAndRollBack() async throws {
        try await Self.withCounters { client async throws in
            let answer = try await client.transaction { session in
                _ = try await session.query("UPDATE counters SET value = 1 WHERE id = 1")
                return try await session.query("SELECT sum(value)::int8 FROM counters").int(0, 0)
            }
            #expect(answer == 1)
            #expect(try await Self.value(1, client) == 1)
            await #expect(throws: Refusal.self) {
                try await client.transaction { session in
                    _ = try await session.query("UPDATE counters SET value = 9")
                    throw Refusal()
                }
            }
            // The rollback is done when the error arrives: the row is not locked.
            _ = try await client.query("UPDATE counters SET value = value + 1 WHERE id = 1")
            #expect(try await Self.value(1, client) == 2)
            #expect(try await client.transaction { _ in 7 } == 7)
        }
    }

    @Test("in which an error was swallowed throw instead of pretending to commit", .timeLimit(.minutes(1)))
    func swallowedError() async throws {
        try await Self.withCounters { client async throws in
            let error = try await postgresError {
                try await client.transaction { session in
                    _ = try await session.query("UPDATE counters SET value = 5")
                    _ = try? await session.query("SELECT 1 / 0")
                }
            }
            #expect(error.sqlState == "22012")
            #expect(try await Self.value(1, client) == 0)
        }
    }

    @Test("left open in a lent connection are rolled back, and the next one finds it clean", .timeLimit(.minutes(1)))
    func leftOpen() async throws {
        try await Self.withCounters { client async throws in
            try await client.exclusively { session async throws in
                _ = try await session.query("BEGIN")
                _ = try await session.query("UPDATE counters SET value = 5")
            }
            #expect(try await Self.value(1, client) == 0)
            try await client.exclusively { session async throws in
                _ = try await session.query("BEGIN")
                _ = try await session.query("COMMIT")
            }
        }
    }

    @Test("are run again after serialization failures until all have counted", .timeLimit(.minutes(1)))
    func serialization() async throws {
        try await Self.withCounters { client async throws in
            let runs = Counter()
            let meeting = Meeting(of: 4)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await client.transaction(isolation: .serializable, retries: 50) { session in
                            runs.increment()
                            let old = try await session.query("SELECT value FROM counters WHERE id = 1").int(0, 0) ?? 0
                            await meeting.arrive()
                            _ = try await session.query(
                                "UPDATE counters SET value = $1 WHERE id = 1", [.int(old + 1)])
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.value(1, client) == 4)
            #expect(runs.count > 4)
        }
    }

    @Test("are not run again more often than asked", .timeLimit(.minutes(1)))
    func retries() async throws {
        try await Self.withCounters { client async throws in
            let runs = Counter()
            let error = try await postgresError {
                try await client.transaction(retries: 2) { session in
                    runs.increment()
                    _ = try await session.query("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$")
                }
            }
            #expect(error.sqlState == "40001")
            #expect(runs.count == 3)
        }
    }

    @Test("that wait for each other both succeed in the end", .timeLimit(.minutes(1)))
    func deadlock() async throws {
        try await Self.withCounters { client async throws in
            let runs = Counter()
            let meeting = Meeting(of: 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (first, second) in [(Int64(1), Int64(2)), (2, 1)] {
                    group.addTask {
                        let increment = "UPDATE counters SET value = value + 1 WHERE id = $1"
                        try await client.transaction { session in
                            runs.increment()
                            _ = try await session.query(increment, [.int(first)])
                            await meeting.arrive()
                            _ = try await session.query(increment, [.int(second)])
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Self.value(1, client) == 2)
            #expect(try await Self.value(2, client) == 2)
            #expect(runs.count >= 3)
        }
    }

    @Test("of shared requests that conflict are repeated unseen", .timeLimit(.minutes(1)))
    func sharedConflict() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            _ = try await client.query("CREATE SEQUENCE tries")
            try await client.execute(
                script: """
                    CREATE FUNCTION fail_twice() RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN
                        IF nextval('tries') < 3 THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END IF;
                        RETURN 42;
                    END $$;
                    """)
            #expect(try await client.query("SELECT fail_twice()").int(0, 0) == 42)
        }
    }

    @Test("cannot be reached through a session that was given back", .timeLimit(.minutes(1)))
    func strayedSession() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            let session = try await client.exclusively { $0 }
            let error = try await postgresError { _ = try await session.query("SELECT 1") }
            #expect(error.sqlState == "08003")
        }
    }
}
