import JSON
import Logging
import ParseModel
import Postgres

/// Builds indexes on large tables without blocking reads or writes (`CREATE INDEX CONCURRENTLY`).
///
/// Indexes are built under temporary names and renamed together with their entry in `_SCHEMA`, so an unfinished one
/// never counts as an index. Leftovers of killed processes are dropped after the next start.
struct IndexBuild {
    let client: PostgresClient
    let logger: Logger

    /// Builds indexes of a class, then runs `record`, which renames them and stores their entry.
    ///
    /// If either fails, the new indexes are dropped, at the latest after the next start.
    ///
    /// - Parameter record: Runs in a transaction of the building session, and again if a conflict rolls it back. A
    ///   separate connection might not be free, which would waste hours of work.
    /// - Throws: `PostgresError` if an index can't be built, or an error of `record`.
    func build(
        _ indexes: JSONObject, of schema: ClassSchema,
        _ record: @Sendable (PostgresSession) async throws -> ClassSchema
    ) async throws -> ClassSchema {
        try await ProcessLock.indexBuild.hold(client) { session in
            let planned = try await Self.statements(indexes, of: schema, session)
            return try await withoutTimeout(session) {
                do {
                    for (name, sql) in planned { try await make(name, sql, session) }
                    return try await Self.transaction(client, session, record)
                } catch {
                    await remove(planned.map(\.name), session)
                    throw error
                }
            }
        }
    }

    private static func transaction(
        _ client: PostgresClient, _ session: PostgresSession,
        _ body: @Sendable (PostgresSession) async throws -> ClassSchema
    ) async throws -> ClassSchema {
        var attempt = 1
        while true {
            do {
                // Retries longer than usual, since a build can take hours.
                return try await SchemaTransaction(client: client, retryDuration: .seconds(120)).retrying {
                    do {
                        _ = try await session.query("BEGIN")
                        try await SchemaTransaction.lock(session)
                        let schema = try await body(session)
                        _ = try await session.query("COMMIT")
                        return schema
                    } catch {
                        // A separate task, so that cancelling the caller doesn't interrupt the rollback.
                        await Task { _ = try? await session.query("ROLLBACK") }.value
                        throw error
                    }
                }
            } catch let error as PostgresError where ["40001", "40P01"].contains(error.sqlState) && attempt < 5 {
                attempt += 1
            }
        }
    }

    private static func statements(_ indexes: JSONObject, of schema: ClassSchema, _ session: PostgresSession)
        async throws -> [(name: String, sql: String)]
    {
        var statements: [(name: String, sql: String)] = []
        for (name, fields) in indexes {
            let names = IndexName(className: schema.name, name: name.text)
            let definition = try IndexDefinition(fields.objectValue ?? [:], of: schema)
            for (number, part) in try await definition.parts(in: session).enumerated() {
                let building = names.building(part: number)
                statements.append((building, part.statement(name: building, concurrently: true)))
            }
        }
        return statements
    }

    /// Drops unfinished indexes of killed processes. Must not delay the start of the server, because PostgreSQL first
    /// waits for all transactions that use the tables.
    ///
    /// If another session holds the lock, a build is running or its process died and the session hasn't ended yet.
    /// Nothing is dropped until the lock is released.
    func clear() async throws {
        while try await client.query(Self.search, Self.prefix).rowCount > 0 {
            let cleared: Void? = try await ProcessLock.indexBuild.attempt(client) { session in
                try await withoutTimeout(session) {
                    let rows = try await session.query(Self.search, Self.prefix)
                    await remove((0..<rows.rowCount).compactMap { rows.string($0, 0) }, session)
                }
            }
            if cleared != nil { return }
            try await Task.sleep(for: .seconds(5))
        }
    }

    private static let search =
        "SELECT relname::text FROM pg_class WHERE relkind = 'i' AND starts_with(relname::text, $1) "
        + "AND pg_table_is_visible(oid)"
    private static let prefix: [PostgresParameter] = [.text(IndexName.buildingPrefix)]

    private func make(_ name: String, _ sql: String, _ session: PostgresSession) async throws {
        for attempt in 1... {
            do {
                _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(SQL.identifier(name))")
                _ = try await session.query(sql)
                return
            } catch let error as PostgresError where error.sqlState == "40P01" && attempt < 5 {
                // Deadlock: another change of the table and this build waited for each other.
                logger.info("rebuilding an index", metadata: ["index": "\(name)", "reason": "\(error)"])
            }
        }
    }

    /// Drops indexes in a separate task, which survives the cancellation of the caller.
    private func remove(_ names: [String], _ session: PostgresSession) async {
        await Task {
            for name in names {
                do {
                    _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(SQL.identifier(name))")
                } catch {
                    logger.warning(
                        "can't drop an incomplete index, retrying at the next start",
                        metadata: ["index": "\(name)", "error": "\(error)"])
                }
            }
        }.value
    }

    private func withoutTimeout<R: Sendable>(
        _ session: PostgresSession, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        // A pooler would hand a session with a changed limit to other clients, so the role's limit applies.
        guard client.hasSessions else { return try await body() }
        return try await session.withoutTimeLimit(body)
    }
}
