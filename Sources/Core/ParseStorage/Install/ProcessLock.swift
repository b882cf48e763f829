import Postgres

/// Locks that only one Roost process of an app holds at a time. Apps in other schemas of the database have their own.
///
/// Processes waiting in ``hold(_:_:)`` poll: a statement waiting inside PostgreSQL would hold a snapshot, and a
/// concurrent index build waits for all snapshots to end.
public enum ProcessLock: Int64, Sendable {
    /// Changing a class, or creating Roost's own tables and functions. Held for one transaction.
    case schemaChange = 0x526F_6F73_7453
    /// Building indexes concurrently on large tables.
    case indexBuild = 0x526F_6F73_7449
    /// Building date indexes, which may take hours after the first start.
    case dateIndexes = 0x526F_6F73_7443
    case advisedIndexes = 0x526F_6F73_7441
    /// Creating and changing the classes declared in the configuration.
    case declaredSchemas = 0x526F_6F73_7444
    /// Starting scheduled jobs.
    case jobSchedules = 0x526F_6F73_744A
    /// Importing data. Held for the whole import.
    case dataImport = 0x526F_6F73_744D

    /// PostgreSQL's key of the lock, as an SQL expression.
    package var key: String { Self.number(rawValue) }

    /// Returns an SQL expression for an advisory lock key: the number itself in the schema `public`, a hash of it in
    /// any other. PostgreSQL shares advisory locks across all schemas of a database.
    static func number(_ number: Int64) -> String {
        "COALESCE(hashtextextended(NULLIF(current_schema()::text, 'public'), \(number)), \(number))"
    }

    /// Waits for the lock and runs `body` while holding it.
    ///
    /// - Parameter body: Receives the session that holds the lock.
    /// - Throws: `PostgresError`, or an error of `body`.
    public func hold<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R {
        while true {
            if let result = try await attempt(client, body) { return result }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Runs `body` while holding the lock, or returns nil if another session holds it.
    func attempt<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R? {
        guard client.hasSessions else { return try await attemptInTransaction(client, body) }
        return try await client.exclusively { session in
            do {
                // Inside the `do`: a cancelled task may have acquired the lock without receiving the response.
                guard try await session.query(attempt).bool(0, 0) == true else { return nil }
                let result = try await body(session)
                await release(session)
                return result
            } catch {
                await release(session)
                throw error
            }
        }
    }

    /// The statement that tries to acquire the lock. It also makes PostgreSQL end the session soon after the client
    /// process dies, even within a statement (PostgreSQL 15 and later). Otherwise the index build of a killed process
    /// would keep the lock for hours.
    private var attempt: String {
        """
        SELECT pg_try_advisory_lock(\(key)), CASE WHEN current_setting('server_version_num')::int >= 150000 \
        THEN set_config('client_connection_check_interval', '5s', false) END
        """
    }

    /// Holds the lock in an idle transaction on a second session. Behind a transaction pooler, only transaction-level
    /// locks stay with their owner.
    private func attemptInTransaction<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R? {
        try await client.transaction(retries: 0, purpose: .administration) { lock in
            guard try await lock.query("SELECT pg_try_advisory_xact_lock(\(key))").bool(0, 0) == true
            else { return nil }
            return try await client.exclusively { session in try await body(session) }
        }
    }

    /// Releases the lock in a separate task, which survives the cancellation of the caller. A lost session has no lock
    /// to release.
    private func release(_ session: PostgresSession) async {
        await Task { _ = try? await session.query("SELECT pg_advisory_unlock(\(key))") }.value
    }

    /// Runs statements that create tables in one transaction that holds the lock.
    ///
    /// Each statement is sent as a separate command. Citus forwards the full text of a command to its servers, and it
    /// doesn't distribute what a PL/pgSQL block creates.
    ///
    /// - Parameter statements: Statements separated by a semicolon at the end of a line.
    /// - Throws: `PostgresError`.
    package func make(_ statements: String, _ client: PostgresClient) async throws {
        let commands =
            [Statement("SELECT pg_advisory_xact_lock(\(key))")]
            + statements.split(separator: ";\n").map { Statement(String($0)) }
        try await client.transaction(retries: 0, purpose: .administration) { session in
            _ = try await session.group(commands)
        }
    }
}
