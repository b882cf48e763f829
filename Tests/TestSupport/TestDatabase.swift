import Logging
import Postgres
import TestTools

/// Direct access to the database of a test's server.
extension TestServer {
    public func execute(_ script: String) async throws { try await Self.execute(script, on: databaseURI) }

    public func rows(_ sql: String, _ parameters: [String] = []) async throws -> [[String?]] {
        try await Self.withClient(databaseURI) { client in
            let result = try await client.query(sql, parameters.map { .text($0) })
            return (0..<result.rowCount).map { row in
                (0..<result.columnCount).map { result.string(row, $0) }
            }
        }
    }

    public func texts(_ sql: String) async throws -> [String] { try await rows(sql).compactMap { $0.first ?? nil } }

    public static func texts(_ sql: String, on uri: String) async throws -> [String] {
        try await withClient(uri) { client in
            let result = try await client.query(sql)
            return (0..<result.rowCount).compactMap { result.string($0, 0) }
        }
    }

    /// Runs `body` while another transaction holds the locks of a statement.
    ///
    /// - Parameters:
    ///   - last: A statement that the transaction runs after `body`.
    ///   - commits: Whether the transaction commits. Otherwise it rolls back.
    public func whileLocked<R: Sendable>(
        _ statement: String, last: String? = nil, commits: Bool = false, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        try await Self.withClient(databaseURI) { client in
            try await client.exclusively { session in
                _ = try await session.query("BEGIN")
                _ = try await session.query(statement)
                let result = try await body()
                if let last { _ = try await session.query(last) }
                if commits { _ = try await session.query("COMMIT") }
                return result
            }
        }
    }

    public static let lockWaits =
        "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    /// Waits until this many statements wait for locks. Returns false on timeout.
    public func waitsForLocks(_ count: Int = 1) async throws -> Bool {
        try await Self.withClient(databaseURI) { client in
            try await eventually { try await client.query(Self.lockWaits).rowCount >= count }
        }
    }

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
        let result = await Result.awaiting { try await body(client) }
        await client.shutdown()
        return try result.get()
    }
}
