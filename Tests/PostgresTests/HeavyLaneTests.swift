import Foundation
import Postgres
import Testing

@Suite("Heavy statements")
struct HeavyLaneTests {
    /// How many statements of a mark run at this moment, and how many processes of the server work on them.
    private static func running(_ mark: String, _ client: PostgresClient) async throws -> Int64 {
        let found = try await client.query(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()",
            [.text("%\(mark)%")])
        return found.int(0, 0) ?? -1
    }

    @Test("As many as are allowed run at once, the others after them, and short statements do not wait")
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

    @Test("One that is cancelled, waiting or running, gives up its place")
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

    @Test("No statement gets parallel workers, unless the connection string says otherwise")
    func parallelWorkers() async throws {
        try await TestDatabase.run { (database) async throws in
            let setting = "SELECT current_setting('max_parallel_workers_per_gather')"
            #expect(try await database.client.query(setting).string(0, 0) == "0")
        }
    }

    #if os(Linux)
        @Test(
            "PostgreSQL's process leaves the processors to others, by whichever way it was reached",
            arguments: [true, false])
        func courtesy(bySocket: Bool) async throws {
            try await TestDatabase.run { (database) async throws in
                var configuration = PostgresConfiguration(connectionString: database.uri)
                if bySocket {
                    let place = try await database.client.query(
                        "SELECT split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), "
                            + "current_database(), current_user")
                    let (folder, port) = (place.string(0, 0) ?? "", place.string(0, 1) ?? "")
                    let (name, user) = (place.string(0, 2) ?? "", place.string(0, 3) ?? "")
                    configuration.connectionString = "host='\(folder)' port=\(port) dbname=\(name) user=\(user)"
                }
                let client = PostgresClient(configuration: configuration, logger: TestDatabase.logger)
                try await client.start()
                let who = Statement("SELECT pg_backend_pid(), inet_client_addr() IS NULL")
                let short = try await client.slowQuery(who)
                #expect(try Self.niceness(short.int(0, 0)).allSatisfy { $0 == 0 })
                let isNice = try await eventually {
                    let heavy = try await client.heavyQuery(who)
                    guard heavy.bool(0, 1) == bySocket else { return false }
                    return try Self.niceness(heavy.int(0, 0)).allSatisfy { $0 == 10 }
                }
                #expect(isNice)
                await client.shutdown()
            }
        }

        /// The values of `nice`: of a process, and of its session's group where the system has those.
        private static func niceness(_ process: Int64?) throws -> [Int] {
            let folder = "/proc/\(try #require(process))"
            let status = try String(contentsOfFile: "\(folder)/stat", encoding: .utf8)
            let words = status[try #require(status.lastIndex(of: ")"))...].split(separator: " ")
            let group = try? String(contentsOfFile: "\(folder)/autogroup", encoding: .utf8)
            return [words[17], group?.split(whereSeparator: \.isWhitespace).last].compactMap { $0.flatMap { Int($0) } }
        }
    #endif
}
