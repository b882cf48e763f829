import JSON
import Logging
import ParseModel
import Postgres

/// Building indexes beside a large table that goes on being read and written (`CREATE INDEX CONCURRENTLY`).
///
/// They are built under names of their own and get their real ones together with their entry in `_SCHEMA`, so that what
/// was not finished is never taken for an index. What a process leaves behind that dies meanwhile goes after the next
/// start.
struct IndexBuild {
    let client: PostgresClient
    let logger: Logger

    /// Builds indexes of a class, then runs `record`, which takes them over.
    ///
    /// - Parameter record: Is run in a transaction of the session that built, and again when the transaction was undone
    ///   for the sake of another one. A connection of its own might not be free, and hours of work would be lost.
    /// - Throws: `PostgresError` when one cannot be built; nothing is left of any then.
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
                // What was built in hours is not given up after seconds.
                return try await SchemaTransaction(client: client, retryDuration: .seconds(120)).retrying {
                    do {
                        _ = try await session.query("BEGIN")
                        try await SchemaTransaction.lock(session)
                        let schema = try await body(session)
                        _ = try await session.query("COMMIT")
                        return schema
                    } catch {
                        // In a task of its own, which a cancelled caller cannot cut short.
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

    /// Drops what processes left behind that died while they built, while requests are served: PostgreSQL waits for
    /// whatever uses the tables.
    ///
    /// A process that holds the lock is building, or has died and its session does not know: nothing is dropped until it
    /// gives the lock back.
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
                // A change of the same table waited for this one while this one waited for it.
                logger.info("rebuilding an index", metadata: ["index": "\(name)", "reason": "\(error)"])
            }
        }
    }

    /// In its own task, which a cancelled caller can't cut short.
    private func remove(_ names: [String], _ session: PostgresSession) async {
        await Task {
            for name in names {
                do {
                    _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(SQL.identifier(name))")
                } catch {
                    logger.warning(
                        "failed index build left behind until the next start",
                        metadata: ["index": "\(name)", "error": "\(error)"])
                }
            }
        }.value
    }

    /// Index builds have no time limit.
    private func withoutTimeout<R: Sendable>(
        _ session: PostgresSession, _ body: @Sendable () async throws -> R
    ) async throws -> R {
        // The limit is the role's then, and a pooler would hand a session with another one to others.
        guard client.hasSessions else { return try await body() }
        return try await session.withoutTimeLimit(body)
    }
}
