import Postgres
import Testing

@Suite("Heavy statements")
struct HeavyPoolTests {
    private static func running(_ mark: String, _ client: PostgresClient) async throws -> Int64 {
        let found = try await client.query(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()",
            [.text("%\(mark)%")])
        return found.int(0, 0) ?? -1
    }

    @Test("Heavy statements run one at a time while short ones keep running")
    func turns() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await client.heavyQuery(Statement("SELECT pg_sleep(0.2) IS NULL AS heavy_turns"))
                            .bool(0, 0) == false
                    }
                }
                var most: Int64 = 0
                var finished = 0
                while finished < 6 {
                    most = max(most, try await Self.running("heavy_turns", client))
                    #expect(try await client.exclusively { try await $0.query("SELECT 1").int(0, 0) } == 1)
                    if client.statistics.waiting == 0, client.statistics.inFlight == 0 {
                        while let isDone = try await group.next() {
                            #expect(isDone)
                            finished += 1
                        }
                    }
                }
                #expect(most == 1)
            }
        }
    }

    @Test("A cancelled heavy statement frees its slot, whether it was waiting or running")
    func cancellation() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            let tasks = (0..<3).map { _ in
                Task { try await client.heavyQuery(Statement("SELECT pg_sleep(60) AS heavy_cancelled")) }
            }
            while try await Self.running("heavy_cancelled", client) == 0 { await Task.yield() }
            for task in tasks { task.cancel() }
            for task in tasks {
                let error = await #expect(throws: PostgresError.self) { try await task.value }
                #expect(error?.kind == .cancelled)
            }
            #expect(try await client.heavyQuery(Statement("SELECT 7")).int(0, 0) == 7)
        }
    }

    @Test("Disables parallel workers for request statements but not for administration")
    func parallelWorkers() async throws {
        try await TestDatabase.run { (database) async throws in
            let client = database.client
            let setting = Statement("SELECT current_setting('max_parallel_workers_per_gather')")
            #expect(try await client.query(setting).string(0, 0) == "0")
            #expect(try await client.heavyQuery(setting).string(0, 0) == "0")
            #expect(try await client.slowQuery(setting).string(0, 0) == "0")
            let script = try await client.exclusively { session in try await session.query(setting) }
            #expect(script.string(0, 0) != "0")
        }
    }
}
