import Foundation
import LocalPostgres
import TestSupport
import TestTools

/// A PostgreSQL primary with streaming replicas.
struct ReplicatedCluster: Sendable {
    let primaryURI: String
    var replicaURI: String { replicaURIs[0] }
    let replicaURIs: [String]
    private let primaryFolder: String
    private let folders: [String]
    private let binaries: PostgresBinaries
    private let account: Account

    static func run(replicas: Int = 1, _ body: (ReplicatedCluster) async throws -> Void) async throws {
        let parent = ClusterFolder.path("replica")
        try FileManager.default.createDirectory(atPath: parent + "/primary", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let primary = LocalPostgres(dataFolder: parent + "/primary", logger: TestServer.quietLogger)
        let uri = try await primary.start()
        let result: Result<Void, any Error>
        do {
            let cluster = try await ReplicatedCluster(primaryURI: uri, parent: parent, replicas: replicas)
            for number in 0..<replicas {
                try await cluster.copy(from: parent + "/primary/socket", number)
                try await cluster.startReplica(number)
            }
            result = await Result.awaiting { try await body(cluster) }
            for number in 0..<replicas { try? await cluster.stopReplica(number) }
        } catch {
            result = .failure(error)
        }
        await primary.stop()
        try result.get()
    }

    private init(primaryURI: String, parent: String, replicas: Int) async throws {
        self.primaryURI = primaryURI
        primaryFolder = parent + "/primary"
        folders = (0..<replicas).map { parent + "/replica\($0)" }
        binaries = try await PostgresBinaries.newest()
        account = try Account.forServer()
        for folder in folders {
            try account.makePrivateFolder(folder)
            try account.makePrivateFolder(folder + "/socket")
        }
        replicaURIs = folders.map { folder in
            let host = (folder + "/socket").addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            return "postgres:///roost?host=\(host)&user=roost"
        }
    }

    private func copy(from socket: String, _ number: Int) async throws {
        let target = folders[number] + "/cluster"
        try await command(
            "pg_basebackup",
            [
                "-h", socket, "-U", "roost", "-D", target, "-R", "-X", "stream", "-c", "fast",
                "-d", "application_name=replica\(number)",
            ], in: folders[number])
    }

    /// Starts a replica, which continues from its last position.
    func startReplica(_ number: Int = 0) async throws {
        let folder = folders[number]
        let options = "-c listen_addresses='' -c unix_socket_directories='\(folder)/socket'"
        try await command(
            "pg_ctl", ["-D", folder + "/cluster", "-l", folder + "/postgres.log", "-w", "-o", options, "start"],
            in: folder)
    }

    func stopReplica(_ number: Int = 0) async throws {
        try await command(
            "pg_ctl", ["-D", folders[number] + "/cluster", "-m", "fast", "-w", "stop"], in: folders[number])
    }

    func signalReplica(_ signal: Int32, _ number: Int = 0) throws {
        let file = try String(contentsOfFile: folders[number] + "/cluster/postmaster.pid", encoding: .utf8)
        guard let postmaster = file.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw LocalPostgres.Failure("the replica does not run")
        }
        try ProcessFamily.signal(signal, to: postmaster)
    }

    /// Makes commits wait until a replica has them on disk.
    func makeSynchronous() async throws {
        let names = folders.indices.map { "replica\($0)" }.joined(separator: ",")
        try await TestServer.execute(
            "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (\(names))'", on: primaryURI)
        _ = try await TestServer.texts("SELECT pg_reload_conf()::text", on: primaryURI)
        let question = "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'quorum'"
        guard try await eventually({ try await TestServer.texts(question, on: primaryURI) == ["\(folders.count)"] })
        else { throw LocalPostgres.Failure("the replicas are not synchronous") }
    }

    func killPrimary() async throws {
        try await command(
            "pg_ctl", ["-D", primaryFolder + "/cluster", "-m", "immediate", "-w", "stop"], in: primaryFolder)
    }

    func reviveOldPrimary() async throws {
        let options =
            "-c listen_addresses='' -c unix_socket_directories='\(primaryFolder)/socket' "
            + "-c synchronous_standby_names=''"
        try await command(
            "pg_ctl",
            ["-D", primaryFolder + "/cluster", "-l", primaryFolder + "/again.log", "-w", "-o", options, "start"],
            in: primaryFolder)
    }

    func promote(_ number: Int) async throws {
        try await command(
            "pg_ctl", ["-D", folders[number] + "/cluster", "-w", "promote"], in: folders[number])
    }

    /// A connection string that selects the server that accepts writes.
    var writableURI: String {
        func host(_ uri: String) -> Substring {
            uri.split(separator: "host=").last?.prefix { $0 != "&" } ?? ""
        }
        let hosts = ([primaryURI] + replicaURIs).map { host($0) }.joined(separator: ",")
        return "postgres:///roost?host=\(hosts)&user=roost"
            + "&target_session_attrs=read-write&connect_timeout=2"
    }

    /// Promotes the replica, and makes the old primary read-only without closing its connections.
    func switchOver() async throws {
        try await TestServer.execute("ALTER SYSTEM SET default_transaction_read_only = on", on: primaryURI)
        _ = try await TestServer.texts("SELECT pg_reload_conf()::text", on: primaryURI)
        guard
            try await eventually({
                try await TestServer.texts("SHOW default_transaction_read_only", on: primaryURI) == ["on"]
            })
        else { throw LocalPostgres.Failure("the primary takes writes") }
        _ = try await TestServer.texts("SELECT pg_promote(false)::text", on: replicaURI)
        guard
            try await eventually({
                try await TestServer.texts("SELECT pg_is_in_recovery()::text", on: replicaURI) == ["false"]
            })
        else { throw LocalPostgres.Failure("the replica is not promoted") }
    }

    /// Makes all replicas reject new connections. Existing connections stay open.
    func refuseConnections() async throws {
        for (folder, uri) in zip(folders, replicaURIs) {
            // Written in place, to retain the file's owner.
            try "local all all reject\n".write(
                toFile: folder + "/cluster/pg_hba.conf", atomically: false, encoding: .utf8)
            _ = try await TestServer.texts("SELECT pg_reload_conf()::text", on: uri)
            let isRefusing = try await eventually { (try? await TestServer.texts("SELECT 'x'", on: uri)) == nil }
            guard isRefusing else { throw LocalPostgres.Failure("the replica takes connections") }
        }
    }

    /// Delays the first replica's replay of each commit.
    func delayReplica(milliseconds: Int) async throws {
        try await TestServer.execute(
            "ALTER SYSTEM SET recovery_min_apply_delay = '\(milliseconds)ms'", on: replicaURI)
        _ = try await TestServer.texts("SELECT pg_reload_conf()::text", on: replicaURI)
    }

    /// Waits until the first replica has applied everything written so far.
    func waitForReplica() async throws {
        let written = try await TestServer.texts("SELECT pg_current_wal_lsn()::text", on: primaryURI).first ?? ""
        guard
            try await eventually({
                try await TestServer.texts(
                    "SELECT 'x' WHERE pg_last_wal_replay_lsn() >= '\(written)'::pg_lsn", on: replicaURI) == ["x"]
            })
        else { throw LocalPostgres.Failure("the replica does not follow") }
    }

    /// Waits for the replica, then pauses its replay.
    func freezeReplica() async throws {
        try await waitForReplica()
        _ = try await TestServer.texts("SELECT pg_wal_replay_pause()::text", on: replicaURI)
        guard
            try await eventually({
                try await TestServer.texts("SELECT pg_get_wal_replay_pause_state()", on: replicaURI) == ["paused"]
            })
        else { throw LocalPostgres.Failure("the replica does not pause") }
    }

    private func command(_ name: String, _ arguments: [String], in folder: String) async throws {
        let log = folder + "/commands.log"
        let (status, output) = try await Command.run(
            [binaries.path(name)] + arguments, as: account, in: folder, log: log)
        guard status == 0 else { throw LocalPostgres.Failure("\(name) failed: \(output.suffix(500))") }
    }
}
