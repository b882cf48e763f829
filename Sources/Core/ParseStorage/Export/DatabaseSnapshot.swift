import Postgres

/// A database as it was at one moment: transactions that share its snapshot see nothing of what others commit later.
///
/// No table is locked but the one that is being read, so that a server can make classes and fields meanwhile.
package struct DatabaseSnapshot: Sendable {
    private let client: PostgresClient
    private let identifier: String

    /// Holds a snapshot while `body` runs; throws what `body` throws; `PostgresError`.
    package static func hold<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (DatabaseSnapshot) async throws -> R
    ) async throws -> R {
        try await client.transaction(isolation: .repeatableRead, retries: 0, purpose: .administration) { session in
            let rows = try await session.group([readOnly, unlimited, Statement("SELECT pg_export_snapshot()")])
            guard let identifier = rows.last?.string(0, 0) else { throw PostgresError(.server, "no snapshot") }
            return try await body(DatabaseSnapshot(client: client, identifier: identifier))
        }
    }

    /// Runs `body` in a transaction that sees what the snapshot holds.
    ///
    /// - Throws: What `body` throws; `PostgresError`, also when the snapshot was lost with its connection.
    func read<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        try await client.transaction(isolation: .repeatableRead, retries: 0, purpose: .administration) { session in
            _ = try await session.query("SET TRANSACTION SNAPSHOT \(SQL.literal(identifier))")
            _ = try await session.group([Self.readOnly, Self.unlimited])
            return try await body(session)
        }
    }

    static let readOnly = Statement("SET TRANSACTION READ ONLY")

    /// An export takes as long as it takes. Scans begin where the table does, so that a second one finds the same
    /// order.
    static let unlimited = Statement(
        """
        SELECT set_config(name, CASE name WHEN 'synchronize_seqscans' THEN 'off' ELSE '0' END, true) FROM pg_settings
        WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout',
            'synchronize_seqscans')
        """)
}
