import Foundation
import LocalPostgres
import Postgres
import Testing

@Suite("An embedded PostgreSQL that doesn't answer in time", .serialized)
struct FrozenPostgresTests {
    /// Runs `body` with a client of a cluster, the process id of its postmaster, and its folder.
    private func withClient(
        statementTimeout: Duration = .seconds(1),
        _ body: (PostgresClient, _ postmaster: Int32, _ folder: String) async throws -> Void
    ) async throws {
        try await TemporaryCluster.withFolder { folder in
            let database = LocalPostgres(dataFolder: folder, logger: TemporaryCluster.logger)
            var configuration = PostgresConfiguration(connectionString: try await database.start())
            configuration.sharedConnections = 1
            configuration.statementTimeout = statementTimeout
            let lines = try String(contentsOfFile: folder + "/cluster/postmaster.pid", encoding: .utf8)
            let postmaster = try #require(lines.split(separator: "\n").first.flatMap { Int32($0) })
            let client = PostgresClient(configuration: configuration, logger: TemporaryCluster.logger)
            try await client.start()
            try await body(client, postmaster, folder)
            await client.shutdown()
            await database.stop()
        }
    }

    /// Freezes processes while `body` runs, but at most for 30 seconds, so that the test ends in any case.
    private func freezing<R>(_ processes: [Int32], _ body: () async throws -> R) async throws -> R {
        for process in processes { kill(process, SIGSTOP) }
        let thaw = Task {
            try? await Task.sleep(for: .seconds(30))
            for process in processes { kill(process, SIGCONT) }
        }
        defer {
            thaw.cancel()
            for process in processes { kill(process, SIGCONT) }
        }
        return try await body()
    }

    private func error(_ body: () async throws -> Void) async -> PostgresError? {
        do { try await body() } catch { return error as? PostgresError }
        return nil
    }

    @Test("A script can run longer than the statement timeout")
    func unlimited() async throws {
        try await withClient { client, _, _ in
            try await client.execute(script: "SELECT pg_sleep(7)")
        }
    }

    @Test("On a frozen connection, reads are retried, and writes and leases fail as connectionLost")
    func frozenBackends() async throws {
        try await withClient { client, _, _ in
            let shared = Int32(try await client.query("SELECT pg_backend_pid()").int(0, 0) ?? 0)
            let start = ContinuousClock.now
            let lent = try await client.exclusively { session in
                let lent = Int32(try await session.query("SELECT pg_backend_pid()").int(0, 0) ?? 0)
                kill(lent, SIGSTOP)
                return try await freezing([shared]) {
                    async let read = client.query("SELECT 2", readOnly: true).int(0, 0)
                    async let written = error { _ = try await client.query("SELECT 3") }
                    async let asked = error { _ = try await session.query("SELECT 4") }
                    let (value, failure) = (try await read, await written)
                    #expect(value == 2)
                    #expect(failure?.kind == .connectionLost)
                    let thaw = Task {
                        try? await Task.sleep(for: .seconds(10))
                        kill(lent, SIGCONT)
                    }
                    let answer = await asked
                    thaw.cancel()
                    #expect(answer?.kind == .connectionLost)
                    return lent
                }
            }
            kill(lent, SIGCONT)
            #expect(ContinuousClock.now - start < .seconds(12), "\(ContinuousClock.now - start)")
        }
    }

    @Test("A cancelled statement on a frozen server ends even if the cancel request gets no answer")
    func frozenCancellation() async throws {
        try await withClient { client, postmaster, _ in
            let start = ContinuousClock.now
            let shared = Int32(try await client.query("SELECT pg_backend_pid()").int(0, 0) ?? 0)
            let failure = try await freezing([postmaster]) {
                await error {
                    try await client.exclusively { session in
                        let lent = Int32(try await session.query("SELECT pg_backend_pid()").int(0, 0) ?? 0)
                        try await freezing([lent, shared]) {
                            let task = Task { try await session.query("SELECT 5") }
                            try await Task.sleep(for: .milliseconds(200))
                            task.cancel()
                            _ = try await task.value
                        }
                    }
                }
            }
            #expect(failure != nil)
            #expect(ContinuousClock.now - start < .seconds(12), "\(ContinuousClock.now - start)")
        }
    }

    @Test("Doesn't pile up cancel requests to a server that accepts no connections")
    func boundedCancellations() async throws {
        try await withClient(statementTimeout: .seconds(30)) { client, postmaster, folder in
            try await freezing([postmaster]) {
                let search = Task { try await client.search(Statement("SELECT pg_sleep(3)"), .init(maxRows: 1)) }
                defer { search.cancel() }
                try await Task.sleep(for: .seconds(2))
                // While other processes open and close sockets, the system's list may be incomplete.
                let own =
                    try (0..<20).map { _ in
                        try String(contentsOfFile: "/proc/net/unix", encoding: .utf8).split(separator: "\n")
                            .count { $0.contains(folder) }
                    }.max() ?? 0
                // The listening socket, the shared connection, and a cancel request.
                #expect((1...4).contains(own), "\(own)")
            }
        }
    }
}
