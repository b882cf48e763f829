import Postgres

/// Locks that one Roost process at a time holds, of all of an app: those of other schemas of the database have others.
///
/// Who waits asks again and again: a statement that waited in the database would hold a snapshot there, and building an
/// index concurrently waits for all snapshots to end.
public enum ProcessLock: Int64, Sendable {
    /// Changing a class, for the time of a transaction.
    case schemaChange = 0x526F_6F73_7453
    /// Building indexes beside tables.
    case indexBuild = 0x526F_6F73_7449
    /// Building indexes by date, which may take hours after a first start.
    case dateIndexes = 0x526F_6F73_7443
    /// Building advised indexes.
    case advisedIndexes = 0x526F_6F73_7441
    /// Making the classes that the configuration declares.
    case declaredSchemas = 0x526F_6F73_7444
    /// Starting jobs that are due by their schedules.
    case jobSchedules = 0x526F_6F73_744A
    /// Importing data, for as long as it takes.
    case dataImport = 0x526F_6F73_744D

    /// The number by which PostgreSQL knows the lock, as an expression.
    var key: String { Self.number(rawValue) }

    /// An expression that is a number in the schema `public`, as it has always been, and another in each other schema:
    /// PostgreSQL has one set of advisory locks for a database.
    static func number(_ number: Int64) -> String {
        "COALESCE(hashtextextended(NULLIF(current_schema()::text, 'public'), \(number)), \(number))"
    }

    /// Runs `body` while holding the lock.
    ///
    /// - Parameter body: Is given the session that holds the lock.
    /// - Throws: What `body` throws; `PostgresError`.
    public func hold<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R {
        while true {
            if let result = try await attempt(client, body) { return result }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Runs `body` if no session holds the lock; nil when one does.
    func attempt<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R? {
        guard client.hasSessions else { return try await attemptInTransaction(client, body) }
        return try await client.exclusively { session in
            do {
                // Inside: the lock may have been taken though its answer was lost on a cancelled task.
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

    /// Ends the session soon after its process, even within a statement (PostgreSQL 15 and later). Otherwise the index
    /// build of a killed process would keep the lock for hours.
    private var attempt: String {
        """
        SELECT pg_try_advisory_lock(\(key)), CASE WHEN current_setting('server_version_num')::int >= 150000 \
        THEN set_config('client_connection_check_interval', '5s', false) END
        """
    }

    /// Holds the lock in an idle transaction, on a session beside that of `body`: a transaction pooler keeps no other
    /// lock with its owner.
    private func attemptInTransaction<R: Sendable>(
        _ client: PostgresClient, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R? {
        try await client.transaction(retries: 0, purpose: .administration) { lock in
            guard try await lock.query("SELECT pg_try_advisory_xact_lock(\(key))").bool(0, 0) == true
            else { return nil }
            return try await client.exclusively { session in try await body(session) }
        }
    }

    /// In its own task, which a cancelled caller can't cut short. A lost session holds no lock.
    private func release(_ session: PostgresSession) async {
        await Task { _ = try? await session.query("SELECT pg_advisory_unlock(\(key))") }.value
    }

    /// Runs statements that make tables while the lock is held: all of them or none.
    ///
    /// Each is sent as a command of its own: Citus gives the text of a command to its servers as it came, with all that came
    /// along, and leaves what a block of PL/pgSQL makes where it was made.
    ///
    /// - Parameter statements: Each but the last ends with a semicolon at the end of a line.
    /// - Throws: `PostgresError`.
    func make(_ statements: String, _ client: PostgresClient) async throws {
        let commands =
            [Statement("SELECT pg_advisory_xact_lock(\(key))")]
            + statements.split(separator: ";\n").map { Statement(String($0)) }
        try await client.transaction(retries: 0, purpose: .administration) { session in
            _ = try await session.group(commands)
        }
    }
}
