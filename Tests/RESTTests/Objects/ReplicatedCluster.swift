import Foundation
import TestSupport

@testable import LocalPostgres

/// A PostgreSQL of a test's own, and a streaming replica of it.
struct ReplicatedCluster: Sendable {
    /// The connection string of the server that is written to.
    let primaryURI: String
    /// The connection string of the replica.
    let replicaURI: String
    private let folder: String
    private let binaries: PostgresBinaries
    private let account: Account

    /// Makes both, runs `body`, and removes them.
    static func run(_ body: (ReplicatedCluster) async throws -> Void) async throws {
        // Directly below /tmp: the user postgres must be able to reach it.
        let parent = "/tmp/roost-replica-" + UUID().uuidString.prefix(8).lowercased()
        try FileManager.default.createDirectory(atPath: parent + "/primary", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let primary = LocalPostgres(dataFolder: parent + "/primary", logger: TestServer.quietLogger)
        let uri = try await primary.start()
        let result: Result<Void, any Error>
        do {
            let cluster = try ReplicatedCluster(primaryURI: uri, folder: parent + "/replica")
            try await cluster.copy(from: parent + "/primary/socket")
            try await cluster.startReplica()
            do {
                result = .success(try await body(cluster))
            } catch {
                result = .failure(error)
            }
            try? await cluster.stopReplica()
        } catch {
            result = .failure(error)
        }
        await primary.stop()
        try result.get()
    }

    private init(primaryURI: String, folder: String) throws {
        self.primaryURI = primaryURI
        self.folder = folder
        binaries = try PostgresBinaries.newest()
        account = try Account.forServer()
        try account.makePrivateFolder(folder)
        try account.makePrivateFolder(folder + "/socket")
        let host = (folder + "/socket").addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        replicaURI = "postgres:///roost?host=\(host)&user=roost"
    }

    private func copy(from socket: String) async throws {
        try await command(
            "pg_basebackup",
            ["-h", socket, "-U", "roost", "-D", folder + "/cluster", "-R", "-X", "stream", "-c", "fast"])
    }

    /// Starts the replica, which follows the primary from where it stopped.
    func startReplica() async throws {
        let options = "-c listen_addresses='' -c unix_socket_directories='\(folder)/socket'"
        try await command(
            "pg_ctl", ["-D", folder + "/cluster", "-l", folder + "/postgres.log", "-w", "-o", options, "start"])
    }

    /// Stops the replica.
    func stopReplica() async throws {
        try await command("pg_ctl", ["-D", folder + "/cluster", "-m", "fast", "-w", "stop"])
    }

    /// A connection string that leads to whichever of the two takes writes.
    var writableURI: String {
        func host(_ uri: String) -> Substring {
            uri.split(separator: "host=").last?.prefix { $0 != "&" } ?? ""
        }
        return "postgres:///roost?host=\(host(primaryURI)),\(host(replicaURI))&user=roost"
            + "&target_session_attrs=read-write&connect_timeout=2"
    }

    /// Makes the replica the one that takes writes, and leaves the connections to the other open.
    func switchOver() async throws {
        try await TestServer.execute("ALTER SYSTEM SET default_transaction_read_only = on", on: primaryURI)
        _ = try await TestServer.texts("SELECT pg_reload_conf()::text", on: primaryURI)
        guard
            try await eventually({
                try await TestServer.texts("SHOW default_transaction_read_only", on: primaryURI) == ["on"]
            })
        else { throw LocalPostgres.Failure("the primary takes writes") }
        _ = try await TestServer.texts("SELECT pg_promote()::text", on: replicaURI)
        guard
            try await eventually({
                try await TestServer.texts("SELECT pg_is_in_recovery()::text", on: replicaURI) == ["false"]
            })
        else { throw LocalPostgres.Failure("the replica is not promoted") }
    }

    /// Lets the replica learn all that was written so far, and nothing after it.
    func freezeReplica() async throws {
        let written = try await TestServer.texts("SELECT pg_current_wal_lsn()::text", on: primaryURI).first ?? ""
        guard
            try await eventually({
                try await TestServer.texts(
                    "SELECT 'x' WHERE pg_last_wal_replay_lsn() >= '\(written)'::pg_lsn", on: replicaURI) == ["x"]
            })
        else { throw LocalPostgres.Failure("the replica does not follow") }
        _ = try await TestServer.texts("SELECT pg_wal_replay_pause()::text", on: replicaURI)
        guard
            try await eventually({
                try await TestServer.texts("SELECT pg_get_wal_replay_pause_state()", on: replicaURI) == ["paused"]
            })
        else { throw LocalPostgres.Failure("the replica does not pause") }
    }

    private func command(_ name: String, _ arguments: [String]) async throws {
        let log = folder + "/commands.log"
        let (status, output) = try await Command.run(
            [binaries.path(name)] + arguments, as: account, in: folder, log: log)
        guard status == 0 else { throw LocalPostgres.Failure("\(name) failed: \(output.suffix(500))") }
    }
}
