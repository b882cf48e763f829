import Foundation
import TestSupport
import Testing

/// PgBouncer in front of a database, in transaction or session mode.
enum Pooler {
    /// Runs `body` with the address of a database behind a new pooler.
    ///
    /// - Parameters:
    ///   - uri: The direct address of the database.
    ///   - sessions: The size of the pool.
    ///   - mode: The pool mode, `transaction` or `session`.
    ///   - extra: A further line of settings.
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
        // PgBouncer refuses to run as root.
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        let account = getuid() == 0 ? ["runuser", "-u", "postgres", "--"] : []
        let process = try await CrashProcess.start(
            ["/usr/bin/env", "PATH=\(path)"] + account + ["pgbouncer", file], output: folder + "/log")
        // `runuser` forwards SIGTERM to PgBouncer. It couldn't forward SIGKILL.
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
