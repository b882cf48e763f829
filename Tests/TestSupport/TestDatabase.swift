import Logging
import Postgres

/// The database of a test's server, seen past the server.
extension TestServer {
    /// Runs statements on the server's database.
    public func execute(_ script: String) async throws { try await Self.execute(script, on: databaseURI) }

    /// The rows of a query on the server's database. Every column must be a text.
    public func rows(_ sql: String, _ parameters: [String] = []) async throws -> [[String?]] {
        try await Self.withClient(databaseURI) { client in
            let result = try await client.query(sql, parameters.map { .text($0) })
            return (0..<result.rowCount).map { row in
                (0..<result.columnCount).map { result.string(row, $0) }
            }
        }
    }

    /// The first column of a query on the server's database, which must be a text.
    public func texts(_ sql: String) async throws -> [String] { try await rows(sql).compactMap { $0.first ?? nil } }

    /// The first column of a query on a database, which must be a text.
    public static func texts(_ sql: String, on uri: String) async throws -> [String] {
        try await withClient(uri) { client in
            let result = try await client.query(sql)
            return (0..<result.rowCount).compactMap { result.string($0, 0) }
        }
    }

    /// Runs `body` while a transaction of another session holds the locks that a statement takes.
    ///
    /// - Parameter commits: Whether the transaction is committed in the end, and not undone.
    public func whileLocked<R: Sendable>(
        _ statement: String, commits: Bool = false, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await Self.withClient(databaseURI) { client in
            try await client.exclusively { session in
                _ = try await session.query("BEGIN")
                _ = try await session.query(statement)
                let result = try await body()
                if commits { _ = try await session.query("COMMIT") }
                return result
            }
        }
    }

    /// Runs statements on a database.
    public static func execute(_ script: String, on uri: String) async throws {
        try await withClient(uri) { try await $0.execute(script: script) }
    }

    private static func withClient<R: Sendable>(
        _ uri: String, _ body: @Sendable (PostgresClient) async throws -> R
    ) async throws -> R {
        var configuration = PostgresConfiguration(connectionString: uri)
        configuration.sharedConnections = 1
        let client = PostgresClient(configuration: configuration, logger: quietLogger)
        try await client.start()
        do {
            let value = try await body(client)
            await client.shutdown()
            return value
        } catch {
            await client.shutdown()
            throw error
        }
    }
}
