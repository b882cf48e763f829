import Foundation
import TestSupport
import Testing

/// PgBouncer in front of a database, which lends a session of the server for one transaction at a time, or for as long as
/// a connection lasts.
enum Pooler {
    /// Runs `body` with the address of a database behind a pooler of its own.
    ///
    /// - Parameters:
    ///   - uri: The database, as it is reached directly.
    ///   - sessions: How many sessions the pooler lends.
    ///   - mode: For how long it lends one: `transaction` or `session`.
    ///   - extra: Another line of its settings.
    static func run<R: Sendable>(
        before uri: String, sessions: Int, mode: String = "transaction", extra: String = "",
        _ body: @Sendable (String) async throws -> R
    ) async throws -> R {
        let parts = try #require(URLComponents(string: uri))
        let folder = FileManager.default.temporaryDirectory.path + "/roost-pooler-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = try await FreePort.find()
        let user = parts.user ?? "postgres"
        let settings = """
            [databases]
            * = host=\(parts.host ?? "127.0.0.1") port=\(parts.port ?? 5432) user=\(user)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir = \(folder)
            auth_type = any
            pool_mode = \(mode)
            default_pool_size = \(sessions)
            max_client_conn = 500
            \(extra)
            """
        let file = folder + "/pooler.ini"
        try Data(settings.utf8).write(to: URL(fileURLWithPath: file))
        // It does not run as root.
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        let account = getuid() == 0 ? ["runuser", "-u", "postgres", "--"] : []
        let process = try await CrashProcess.start(
            ["/usr/bin/env", "PATH=\(path)"] + account + ["pgbouncer", file], output: folder + "/log")
        // Not SIGKILL: runuser hands the signal on to the program that it waits for.
        defer { kill(process.identifier, SIGTERM) }
        let pooled = "postgres://\(user)@127.0.0.1:\(port)\(parts.path)"
        func log() -> String {
            String(decoding: FileManager.default.contents(atPath: folder + "/log") ?? Data(), as: UTF8.self)
        }
        let listens = try await eventually { log().contains("process up") }
        try #require(listens, "\(log())")
        return try await body(pooled)
    }
}
