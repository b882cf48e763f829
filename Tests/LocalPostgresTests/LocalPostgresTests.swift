import Foundation
import LocalPostgres
import Logging
import Postgres
import Testing

@Suite("The embedded PostgreSQL", .serialized)
struct LocalPostgresTests {
    private static let logger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }()

    /// Runs `body` with a temporary folder, then stops its cluster and deletes the folder.
    private func withFolder(_ suffix: String = "", _ body: (String) async throws -> Void) async throws {
        // The user `postgres` must be able to enter the folder, so it is directly below /tmp.
        let parent = "/tmp/roost-cluster-" + UUID().uuidString.prefix(8).lowercased()
        let folder = parent + suffix
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(folder))
        } catch {
            result = .failure(error)
        }
        // If a failed test left its cluster running, it is adopted and stopped.
        if FileManager.default.fileExists(atPath: folder + "/cluster/postmaster.pid") {
            let rest = LocalPostgres(dataFolder: folder, logger: Self.logger)
            if (try? await rest.start()) != nil { await rest.stop() }
        }
        try? FileManager.default.removeItem(atPath: parent)
        try result.get()
    }

    @discardableResult
    private func query(_ uri: String, _ sql: String) async throws -> PostgresResult {
        let client = PostgresClient(configuration: PostgresConfiguration(connectionString: uri), logger: Self.logger)
        try await client.start()
        do {
            let result = try await client.query(sql)
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? Int ?? 0) & 0o777
    }

    @Test(
        "Root neither starts another user's cluster nor changes the owner of its folder",
        .enabled(if: getuid() == 0))
    func foreignCluster() async throws {
        try await withFolder { folder in
            let nobody = try #require(getpwnam("nobody")).pointee.pw_uid
            try FileManager.default.createDirectory(atPath: folder + "/cluster", withIntermediateDirectories: true)
            for path in [folder, folder + "/cluster"] { #expect(chown(path, nobody, getgid()) == 0) }
            let descriptor = open(folder + "/roost.lock", O_CREAT | O_RDWR, 0o600)
            #expect(flock(descriptor, LOCK_EX) == 0)
            for message in ["another Roost server uses \(folder)", "\(folder)/cluster belongs to the user nobody"] {
                let failure = await #expect(throws: LocalPostgres.Failure.self) {
                    _ = try await LocalPostgres(dataFolder: folder, logger: Self.logger).start()
                }
                #expect(failure?.description.hasPrefix(message) == true, "\(String(describing: failure))")
                var status = stat()
                #expect(stat(folder, &status) == 0 && status.st_uid == nobody)
                flock(descriptor, LOCK_UN)
            }
            close(descriptor)
        }
    }

    @Test(
        "Doesn't follow links that the user postgres could have put into the folder",
        arguments: ["socket", "commands.log", "roost.lock"])
    func links(_ name: String) async throws {
        try await withFolder("/data") { folder in
            let target = folder + "-" + name
            if name == "socket" {
                try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
                #expect(chmod(target, 0o755) == 0)
            }
            try FileManager.default.createSymbolicLink(atPath: folder + "/" + name, withDestinationPath: target)
            await #expect(throws: LocalPostgres.Failure.self) {
                _ = try await LocalPostgres(dataFolder: folder, logger: Self.logger).start()
            }
            var status = stat()
            let isThere = stat(target, &status) == 0
            #expect(isThere == (name == "socket"))
            if isThere { #expect(status.st_uid == getuid() && status.st_mode & 0o777 == 0o755) }
        }
    }

    @Test("The first start creates a private, durable cluster, and the second one keeps its data")
    func startsTwice() async throws {
        try await withFolder { folder in
            let first = LocalPostgres(dataFolder: folder, logger: Self.logger)
            let uri = try await first.start()
            #expect(try await query(uri, "SELECT current_database()::text").string(0, 0) == "roost")
            try await query(uri, "CREATE TABLE t AS SELECT 42::int8 AS a")
            #expect(try await query(uri, "SHOW listen_addresses").string(0, 0) == "")
            #expect(try await query(uri, "SHOW data_checksums").string(0, 0) == "on")
            #expect(try await query(uri, "SHOW fsync").string(0, 0) == "on")
            for path in [folder, folder + "/cluster", folder + "/socket"] {
                #expect(try mode(path) == 0o700, "\(path)")
            }
            #expect(try mode(folder + "/roost.lock") == 0o600)
            await first.stop()
            await #expect(throws: PostgresError.self) { try await query(uri, "SELECT 1") }

            let second = LocalPostgres(dataFolder: folder, logger: Self.logger)
            let again = try await second.start()
            #expect(try await query(again, "SELECT a FROM t").int(0, 0) == 42)
            await second.stop()
        }
    }

    @Test("Rejects a second server on the same folder until the first one stops")
    func onlyOne() async throws {
        try await withFolder { folder in
            let first = LocalPostgres(dataFolder: folder, logger: Self.logger)
            let uri = try await first.start()
            let second = LocalPostgres(dataFolder: folder, logger: Self.logger)
            do {
                _ = try await second.start()
                Issue.record("the second server must be refused")
            } catch let error as LocalPostgres.Failure {
                #expect(error.description.contains("another Roost server uses \(folder)"))
            }
            // The rejected attempt didn't disturb the first one.
            #expect(try await query(uri, "SELECT 1::int8").int(0, 0) == 1)
            await first.stop()
            _ = try await second.start()
            await second.stop()
        }
    }

    @Test("A command shares the cluster of a running server, or starts it if no server is running")
    func shared() async throws {
        try await withFolder { folder in
            let command = LocalPostgres(dataFolder: folder, logger: Self.logger)
            #expect(!command.exists)
            let server = LocalPostgres(dataFolder: folder, logger: Self.logger)
            let uri = try await server.start()
            #expect(command.exists)
            let beside = try await command.startOrShare()
            #expect(beside.isShared)
            #expect(beside.connectionString == uri)
            #expect(try await query(beside.connectionString, "SELECT 1::int8").int(0, 0) == 1)
            await server.stop()
            let alone = try await command.startOrShare()
            #expect(!alone.isShared)
            #expect(try await query(alone.connectionString, "SELECT 2::int8").int(0, 0) == 2)
            await command.stop()
        }
    }

    @Test("Takes over a cluster that a killed server left running, with all its data")
    func leftRunning() async throws {
        try await withFolder { folder in
            var abandoned: LocalPostgres? = LocalPostgres(dataFolder: folder, logger: Self.logger)
            let uri = try #require(try await abandoned?.start())
            try await query(uri, "CREATE TABLE t AS SELECT 7::int8 AS a")
            // The server is released without stopping its cluster, which frees the lock.
            abandoned = nil
            #expect(FileManager.default.fileExists(atPath: folder + "/cluster/postmaster.pid"))
            let next = LocalPostgres(dataFolder: folder, logger: Self.logger)
            #expect(try await query(try await next.start(), "SELECT a FROM t").int(0, 0) == 7)
            await next.stop()
            #expect(!FileManager.default.fileExists(atPath: folder + "/cluster/postmaster.pid"))
        }
    }

    /// The running processes with their start times: all, or the children of a process.
    private func processes(of parent: Int32?) throws -> Set<String> {
        Set(
            try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { name in
                guard Int32(name) != nil, let stat = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                    let end = stat.lastIndex(of: ")")
                else { return nil }
                let fields = stat[stat.index(after: end)...].split(separator: " ")
                guard fields.count > 19, fields[0] != "Z", parent.map({ Int32(fields[1]) == $0 }) ?? true else {
                    return nil
                }
                return "\(name) \(fields[19])"
            })
    }

    @Test("Recovers committed data after the postmaster was killed")
    func killed() async throws {
        try await withFolder { folder in
            var abandoned: LocalPostgres? = LocalPostgres(dataFolder: folder, logger: Self.logger)
            let uri = try #require(try await abandoned?.start())
            try await query(uri, "CREATE TABLE t AS SELECT 7::int8 AS a")
            let text = try String(contentsOfFile: folder + "/cluster/postmaster.pid", encoding: .utf8)
            let postmaster = try #require(text.split(separator: "\n").first.flatMap { pid_t($0) })
            let processes = try self.processes(of: postmaster)
            kill(postmaster, SIGKILL)
            abandoned = nil
            // They exit by themselves, but use the cluster's shared memory until then.
            let end = ContinuousClock.now + .seconds(30)
            while try !self.processes(of: nil).isDisjoint(with: processes), .now < end {
                try await Task.sleep(for: .milliseconds(20))
            }
            let next = LocalPostgres(dataFolder: folder, logger: Self.logger)
            #expect(try await query(try await next.start(), "SELECT a FROM t").int(0, 0) == 7)
            await next.stop()
        }
    }

    @Test(
        "Works in a folder whose path is too long for a socket or contains a quote and a comma",
        arguments: ["/" + String(repeating: "long", count: 25), "/o'brien, sons"])
    func oddPaths(path: String) async throws {
        try await withFolder(path) { folder in
            let server = LocalPostgres(dataFolder: folder, logger: Self.logger)
            let uri = try await server.start()
            #expect(try await query(uri, "SELECT 1::int8").int(0, 0) == 1)
            await server.stop()
        }
    }

    // MARK: A server that does not answer

    /// Runs `body` with a client of a cluster, the process id of its postmaster, and its folder.
    private func withClient(
        statementTimeout: Duration = .seconds(1),
        _ body: (PostgresClient, _ postmaster: Int32, _ folder: String) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let database = LocalPostgres(dataFolder: folder, logger: Self.logger)
            var configuration = PostgresConfiguration(connectionString: try await database.start())
            configuration.sharedConnections = 1
            configuration.statementTimeout = statementTimeout
            let lines = try String(contentsOfFile: folder + "/cluster/postmaster.pid", encoding: .utf8)
            let postmaster = try #require(lines.split(separator: "\n").first.flatMap { Int32($0) })
            let client = PostgresClient(configuration: configuration, logger: Self.logger)
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

    @Test("A script can run longer than the statement timeout")
    func unlimited() async throws {
        try await withClient { client, _, _ in
            try await client.execute(script: "SELECT pg_sleep(7)")
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
