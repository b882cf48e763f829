import Foundation
import LocalPostgres
import TestSupport
import TestTools

/// A Citus cluster of a coordinator and two workers.
struct CitusCluster: Sendable {
    let uri: String
    let workers: [String]
    private let folders: [String]
    private let binaries: PostgresBinaries
    private let account: Account

    static func isInstalled() async throws -> Bool {
        try await TestServer.texts(
            "SELECT name::text FROM pg_available_extensions WHERE name = 'citus'", on: TestServer.cluster) == ["citus"]
    }

    static func run(_ body: (CitusCluster) async throws -> Void) async throws {
        let parent = ClusterFolder.path("citus")
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        let cluster = try await CitusCluster(parent: parent)
        let result = await Result.awaiting {
            for folder in cluster.folders { try await cluster.start(folder) }
            try await cluster.connect()
            try await body(cluster)
        }
        for folder in cluster.folders { try? await cluster.stop(folder) }
        try result.get()
    }

    private init(parent: String) async throws {
        binaries = try await PostgresBinaries.newest()
        account = try Account.forServer()
        folders = ["coordinator", "one", "two"].map { "\(parent)/\($0)" }
        for folder in folders {
            try account.makePrivateFolder(folder)
            try account.makePrivateFolder(folder + "/socket")
        }
        let uris = folders.map { LocalPostgres.connectionString($0 + "/socket") }
        (uri, workers) = (uris[0], Array(uris.dropFirst()))
    }

    private func start(_ folder: String) async throws {
        let socket = folder + "/socket"
        try await command(
            "initdb", LocalPostgres.initialization(of: folder + "/cluster") + ["--no-sync"], in: folder)
        let settings = [
            "listen_addresses=''", "unix_socket_directories='\(socket)'", "port=\(LocalPostgres.port)", "fsync=off",
            "shared_preload_libraries=citus", "max_connections=200", "max_prepared_transactions=100",
            "citus.enable_schema_based_sharding=on", "citus.local_hostname='\(socket)'",
        ]
        try await command(
            "pg_ctl",
            [
                "-D", folder + "/cluster", "-l", folder + "/postgres.log", "-w", "-o",
                settings.map { "-c \($0)" }.joined(separator: " "), "start",
            ], in: folder)
        try await command("createdb", ["-h", socket, "-p", LocalPostgres.port, "-U", "roost", "roost"], in: folder)
        try await TestServer.execute("CREATE EXTENSION citus", on: LocalPostgres.connectionString(socket))
    }

    /// Registers the workers with the coordinator.
    private func connect() async throws {
        func node(_ folder: String) -> String { "'\(folder)/socket', \(LocalPostgres.port)" }
        _ = try await TestServer.texts("SELECT citus_set_coordinator_host(\(node(folders[0])))::text", on: uri)
        for folder in folders.dropFirst() {
            _ = try await TestServer.texts("SELECT citus_add_node(\(node(folder)))::text", on: uri)
        }
    }

    private func stop(_ folder: String) async throws {
        try await command("pg_ctl", ["-D", folder + "/cluster", "-m", "immediate", "-w", "stop"], in: folder)
    }

    private func command(_ name: String, _ arguments: [String], in folder: String) async throws {
        let log = folder + "/commands.log"
        let (status, output) = try await Command.run(
            [binaries.path(name)] + arguments, as: account, in: folder, log: log)
        guard status == 0 else { throw LocalPostgres.Failure("\(name) failed: \(output.suffix(500))") }
    }
}
