import Postgres

/// A consistent view of a database: transactions that use the snapshot don't see later commits.
///
/// Only the table being read is locked, so that classes and fields can be created meanwhile.
package struct DatabaseSnapshot: Sendable {
    private let client: PostgresClient
    private let identifier: String

    /// Holds a snapshot while `body` runs. Throws `PostgresError` or an error of `body`.
    package static func hold<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (DatabaseSnapshot) async throws -> R
    ) async throws -> R {
        try await client.transaction(isolation: .repeatableRead, retries: 0, purpose: .administration) { session in
            let rows = try await session.group([readOnly, unlimited, Statement("SELECT pg_export_snapshot()")])
            guard let identifier = rows.last?.string(0, 0) else {
                throw PostgresError(.server, "pg_export_snapshot returned no snapshot id")
            }
            return try await body(DatabaseSnapshot(client: client, identifier: identifier))
        }
    }

    /// Runs `body` in a transaction that sees the snapshot.
    ///
    /// - Throws: `PostgresError`, for example if the snapshot's connection was lost, or an error of `body`.
    package func read<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        try await client.transaction(isolation: .repeatableRead, retries: 0, purpose: .administration) { session in
            _ = try await session.query("SET TRANSACTION SNAPSHOT \(SQL.literal(identifier))")
            _ = try await session.group([Self.readOnly, Self.unlimited])
            return try await body(session)
        }
    }

    static let readOnly = Statement("SET TRANSACTION READ ONLY")

    /// The statement that turns off the time limits of statements and transactions. It also makes scans start at the
    /// beginning of the table, so that a repeated scan returns the same order.
    static let unlimited = Statement(
        """
        SELECT set_config(name, CASE name WHEN 'synchronize_seqscans' THEN 'off' ELSE '0' END, true) FROM pg_settings
        WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout',
            'synchronize_seqscans')
        """)
}
