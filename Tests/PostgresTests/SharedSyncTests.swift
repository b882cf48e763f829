import Postgres
import Testing

@Suite("Reads that share a sync")
struct SharedSyncTests {
    private static func read(
        _ count: Int, on client: PostgresClient, _ statement: @escaping @Sendable (Int) -> Statement
    ) async -> [Int: Result<PostgresResult, any Error>] {
        await withTaskGroup(of: (Int, Result<PostgresResult, any Error>).self) { group in
            for number in 0..<count {
                group.addTask {
                    do {
                        return (number, .success(try await client.query(statement(number), readOnly: true)))
                    } catch {
                        return (number, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    @Test("Concurrent reads share transactions of at most 16")
    func together() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            // The transaction's time, which is equal for all reads in the same transaction.
            let answers = await Self.read(800, on: database.client) { _ in Statement("SELECT now()::text") }
            let times = try answers.values.map { try $0.get().string(0, 0) ?? "" }
            #expect(times.count == 800)
            #expect(Dictionary(grouping: times) { $0 }.values.map(\.count).max() == 16)
        }
    }

    @Test("Reads don't wait behind slow ones while another connection is free")
    func waiting() async throws {
        let settings: (inout PostgresConfiguration) -> Void = {
            $0.sharedLockTimeout = .seconds(20)
            $0.sharedStatementTimeout = .seconds(20)
        }
        try await TestDatabase.run(shared: 3, configure: settings) {
            (database) async throws in
            let client = database.client
            let answered = Counter()
            let answers = try await client.exclusively { session in
                _ = try await session.query("SELECT pg_advisory_lock(7)")
                var first: [Task<PostgresResult, any Error>] = []
                for count in 1...2 {
                    first.append(
                        Task { try await client.query("SELECT pg_advisory_xact_lock(7)::text", readOnly: true) })
                    let areWaiting = try await eventually {
                        try await session.query(TestDatabase.waiters).rowCount == count
                    }
                    #expect(areWaiting)
                }
                // Until then, the connections don't count as slow yet, and further reads may wait behind them.
                try await Task.sleep(for: .milliseconds(200))
                let others = Task {
                    let answers = await Self.read(100, on: client) { number in
                        Statement("SELECT $1::int8", [.int(Int64(number))])
                    }
                    answered.add(answers.count)
                    return answers
                }
                #expect(try await eventually { answered.value == 100 })
                _ = try await session.query("SELECT pg_advisory_unlock(7)")
                for task in first { _ = try await task.value }
                return await others.value
            }
            for (number, answer) in answers { #expect(try answer.get().int(0, 0) == Int64(number)) }
        }
    }

    @Test("A failing read gets its own error, and concurrent reads get their rows")
    func failures() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            for share in [2, 3, 7, 50] {
                let answers = await Self.read(300, on: database.client) { number in
                    Statement("SELECT $1 / $2", [.int(Int64(number)), .int(number % share == 0 ? 0 : 1)])
                }
                for (number, answer) in answers {
                    switch answer {
                    case .success(let result):
                        #expect(result.int(0, 0) == Int64(number))
                        #expect(number % share != 0)
                    case .failure(let error):
                        #expect((error as? PostgresError)?.sqlState == "22012")
                        #expect(number % share == 0)
                    }
                }
            }
            #expect(try await eventually { database.client.statistics.inFlight == 0 })
        }
    }

    @Test("Prepares new statements again if one before them in the batch failed")
    func preparations() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            for round in 0..<20 {
                let answers = await Self.read(40, on: database.client) { number in
                    // Each has a different text, and every fifth names a missing table.
                    number % 5 == 0
                        ? Statement("SELECT \(number) FROM missing_\(round)_\(number)")
                        : Statement("SELECT \(number) AS c\(round)_\(number)", [])
                }
                for (number, answer) in answers {
                    if number % 5 == 0 {
                        #expect(throws: PostgresError.self) { try answer.get() }
                    } else {
                        #expect(try answer.get().int(0, 0) == Int64(number))
                    }
                }
            }
        }
    }

    @Test("A write between failing reads commits on its own, and later reads see it")
    func writesBetween() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            let client = database.client
            _ = try await client.query("CREATE TABLE t (id int8)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    group.addTask {
                        let id = Int64(number)
                        // Failing reads around the write must not undo it.
                        async let failing = try? client.query("SELECT 1 / $1", [.int(0)], readOnly: true)
                        _ = try await client.query("INSERT INTO t VALUES ($1)", [.int(id)])
                        let found = try await client.query(
                            "SELECT count(*) FROM t WHERE id = $1", [.int(id)], readOnly: true)
                        #expect(found.int(0, 0) == 1)
                        #expect(await failing == nil)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await client.query("SELECT count(*) FROM t").int(0, 0) == 200)
        }
    }

    @Test("Resends reads that were in flight when their connection broke")
    func brokenConnections() async throws {
        try await TestDatabase.run(shared: 1) { (database) async throws in
            let client = database.client
            let answers = await Self.read(100, on: client) { number in
                number == 20
                    ? Statement("SELECT pg_terminate_backend(pg_backend_pid())::int8")
                    : Statement("SELECT \(number)::int8 + $1", [.int(0)])
            }
            for (number, answer) in answers where number != 20 {
                #expect(try answer.get().int(0, 0) == Int64(number))
            }
        }
    }
}
