public import Logging
public import Postgres

/// Builds advised indexes one after the other without blocking reads and writes.
///
/// Only one process of an app builds at a time. A build is cancelled if another session waits for it. The next run
/// drops an incomplete index that a failed build left behind.
public struct AdvisedIndexBuilder: Sendable {
    private let configuration: PostgresConfiguration
    private let client: PostgresClient
    private let maxPerClass: Int
    private let logger: Logger

    /// - Parameter configuration: The database. Builds use a separate connection without a time limit.
    public init(
        configuration: PostgresConfiguration, client: PostgresClient, maxPerClass: Int, logger: Logger
    ) {
        (self.configuration, self.client) = (configuration, client)
        (self.maxPerClass, self.logger) = (maxPerClass, logger)
    }

    /// Builds an advised index about every ten minutes until the task is cancelled. Does nothing behind a transaction
    /// pooler if no direct connection to the server is configured.
    public func run() async {
        // A build can need its session for hours, which a transaction pooler doesn't provide.
        guard configuration.hasSessions else { return }
        // The random delay keeps processes that started together from colliding.
        while (try? await Task.sleep(for: .seconds(Int.random(in: 500...700)))) != nil { await turn() }
    }

    /// Drops incomplete indexes and builds the most useful missing one. Returns the name of the new index, or nil if
    /// none was built.
    @discardableResult
    public func turn() async -> String? {
        do {
            let facts = try await DatabaseFacts.read(client)
            let wanted = try await wanted(facts)
            guard !Self.leftovers(facts).isEmpty || wanted != nil else { return nil }
            return try await PostgresClient.opened(configuration.forBuilding, logger: logger) { builder in
                try await ProcessLock.advisedIndexes.attempt(builder) { session in
                    try await build(in: session)
                } ?? nil
            }
        } catch let error as PostgresError where error.kind == .cancelled || error.kind == .shutdown {
            return nil
        } catch {
            logger.warning("can't apply index advice", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private static func leftovers(_ facts: DatabaseFacts) -> [String] {
        facts.indexes.filter { !$0.isValid && $0.name.hasPrefix(IndexCandidate.prefix) }.map(\.name)
    }

    private func wanted(_ facts: DatabaseFacts) async throws -> IndexAdvice? {
        let refused = try await NoteTable(client: client).refused()
        return try await IndexAdviser(client: client).advice(facts, total: 10_000, calls: 20).first { advice in
            let built = facts.indexes.count {
                $0.table.hasSameBytes(as: advice.className) && $0.isValid && $0.name.hasPrefix(IndexCandidate.prefix)
            }
            return built < maxPerClass && !refused.contains(advice.name)
                && !facts.indexes.contains { $0.name.hasSameBytes(as: advice.name) }
                && advice.questions.contains { $0.rest != nil }
        }
    }

    private func build(in session: PostgresSession) async throws -> String? {
        for name in Self.leftovers(try await DatabaseFacts.read(client)) { await drop(name, session) }
        guard let advice = try await wanted(try await DatabaseFacts.read(client)) else { return nil }
        // A build that hits a lock timeout would have to start over.
        _ = try await session.query("SET lock_timeout = 0")
        do {
            try await makingWay(for: session) { _ = try await session.query(advice.statement) }
        } catch let error as PostgresError {
            await drop(advice.name, session)
            // A cancelled build is worth another attempt.
            if error.kind == .server, error.sqlState != "57014" {
                try await NoteTable(client: client).refuse(advice.name)
            }
            logger.warning(
                "can't build an advised index", metadata: ["index": "\(advice.name)", "error": "\(error)"])
            return nil
        }
        logger.notice("index built", metadata: ["index": "\(advice.name)", "reason": "\(advice.words)"])
        return advice.name
    }

    /// Cancels the build if other sessions wait for it, for example a class change that blocks requests.
    private func makingWay(for session: PostgresSession, _ build: @Sendable @escaping () async throws -> Void)
        async throws
    {
        let process = try await session.query("SELECT pg_backend_pid()::int8").int(0, 0) ?? 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                while (try? await Task.sleep(for: .milliseconds(100))) != nil {
                    // If a check fails, the next one runs 100 ms later.
                    _ = try? await client.query(
                        """
                        SELECT pg_cancel_backend($1::int8::int4) WHERE EXISTS (SELECT FROM pg_stat_activity
                        WHERE wait_event_type = 'Lock' AND pid <> $1::int8::int4
                        AND $1::int8::int4 = ANY(pg_blocking_pids(pid)))
                        """, [.int(process)])
                }
            }
            group.addTask { try await build() }
            try await group.next()
        }
    }

    /// Drops an invalid index that no session is building. Runs in a separate task, which survives the cancellation of
    /// the caller.
    private func drop(_ name: String, _ session: PostgresSession) async {
        await Task {
            do {
                let rows = try await session.query(
                    """
                    SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid AND NOT EXISTS (
                        SELECT FROM pg_stat_progress_create_index WHERE index_relid = indexrelid)
                    """, [.text(SQL.identifier(name))])
                guard rows.rowCount > 0 else { return }
                _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(SQL.identifier(name))")
            } catch {
                logger.info(
                    "can't drop an incomplete index, will retry", metadata: ["index": "\(name)", "error": "\(error)"])
            }
        }.value
    }
}
