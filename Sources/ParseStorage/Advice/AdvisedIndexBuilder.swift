public import Logging
public import Postgres
import Synchronization
import Tasks

/// Builds the indexes that are advised, one after the other, while the tables are read and written.
///
/// One process of a database builds at a time. A build makes way for others that wait for it, and what one leaves behind that
/// ended is dropped at the next turn.
public struct AdvisedIndexBuilder: Sendable {
    private let configuration: PostgresConfiguration
    private let client: PostgresClient
    private let mostPerClass: Int
    private let threshold: IndexAdviser.Threshold
    private let failures = FailedBuilds()
    private let logger: Logger

    /// Makes a builder.
    ///
    /// - Parameters:
    ///   - configuration: How the database is reached; building has connections of its own, without a time limit.
    ///   - client: The connections by which is found out what helps.
    ///   - mostPerClass: How many indexes a class gets at most.
    ///   - threshold: What is worth an index.
    public init(
        configuration: PostgresConfiguration, client: PostgresClient, mostPerClass: Int,
        threshold: IndexAdviser.Threshold = .building, logger: Logger
    ) {
        self.configuration = configuration
        self.client = client
        self.mostPerClass = mostPerClass
        self.threshold = threshold
        self.logger = logger
    }

    /// Takes a turn every ten minutes, until the task is cancelled.
    public func run() async {
        // Building takes a session of its own for hours, which a pooler of transactions does not give.
        guard configuration.hasSessions else { return }
        // Processes that started together do not go on together.
        while (try? await Task.sleep(for: .seconds(Int.random(in: 500...700)))) != nil { await turn() }
    }

    /// Drops what was left behind, and builds the index that helps most.
    ///
    /// - Returns: Its name; nil where none was built.
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
            logger.warning("advised indexes are not built", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Indexes that a build left behind that ended, and that nothing uses.
    private static func leftovers(_ facts: DatabaseFacts) -> [String] {
        facts.indexes.filter { !$0.isValid && $0.name.hasPrefix(IndexCandidate.prefix) }.map(\.name)
    }

    /// The index that is worth most and may be built.
    private func wanted(_ facts: DatabaseFacts) async throws -> IndexAdvice? {
        let refused = try await IndexRefusals(client: client).recent()
        return try await IndexAdviser(client: client).report(threshold, facts).advice.first { advice in
            let built = facts.indexes.count {
                $0.table.hasSameBytes(as: advice.className) && $0.isValid && $0.name.hasPrefix(IndexCandidate.prefix)
            }
            // The readers of a row may be too many for an index.
            return built < mostPerClass && !advice.candidate.holdsReaders && !failures.isRecent(advice.name)
                && !refused.contains(advice.name)
                && advice.questions.contains { $0.rest != nil }
        }
    }

    /// What is done while the lock is held: no other process builds such an index now.
    private func build(in session: PostgresSession) async throws -> String? {
        let facts = try await DatabaseFacts.read(client)
        for name in Self.leftovers(facts) { await drop(name, session, isLeftover: true) }
        guard let advice = try await wanted(facts) else { return nil }
        // What ends in time limits of the session would have to begin anew.
        _ = try await session.query("SET lock_timeout = 0")
        do {
            try await makingWay(for: session) { _ = try await session.query(advice.statement) }
            if let reason = try await objection(to: advice, facts, session) {
                failures.note(advice.name)
                logger.warning(
                    "an advised index is not kept", metadata: ["index": "\(advice.name)", "reason": "\(reason)"])
                return nil
            }
        } catch let error as PostgresError {
            await drop(advice.name, session)
            // One that made way is worth another attempt.
            if error.kind == .server, error.sqlState != "57014" { failures.note(advice.name) }
            logger.warning(
                "an advised index could not be built", metadata: ["index": "\(advice.name)", "error": "\(error)"])
            return nil
        }
        logger.notice("an index was built", metadata: ["index": "\(advice.name)", "reason": "\(advice.words)"])
        return advice.name
    }

    /// Why an index that was built is of no use; nil where it is of use.
    private func objection(to advice: IndexAdvice, _ facts: DatabaseFacts, _ session: PostgresSession) async throws
        -> String?
    {
        let rows = try await session.query(
            "SELECT indisvalid AND indrelid = to_regclass($2) FROM pg_index WHERE indexrelid = to_regclass($1)",
            [.text(SQL.identifier(advice.name)), .text(SQL.identifier(advice.className))])
        guard rows.rowCount > 0, rows.bool(0, 0) == true else { return "another index has its name" }
        let planner = PlannedCost(session: session, facts: facts)
        var isAsked = false
        for question in advice.questions {
            guard let plan = try await planner.plan(of: question.shape) else { continue }
            isAsked = true
            if plan.indexes.contains(advice.name) { return nil }
        }
        guard isAsked else { return nil }
        await drop(advice.name, session)
        return "PostgreSQL does not use it"
    }

    /// Runs a build, and stops it when others wait for it, such as a change of the class behind which requests wait.
    private func makingWay(for session: PostgresSession, _ build: @Sendable @escaping () async throws -> Void)
        async throws
    {
        let process = try await session.query("SELECT pg_backend_pid()::int8").int(0, 0) ?? 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while (try? await Task.sleep(for: .milliseconds(100))) != nil {
                    // A look that fails is followed by another one.
                    _ = try? await client.query(
                        """
                        SELECT pg_cancel_backend($1::int8::int4) WHERE EXISTS (SELECT FROM pg_stat_activity
                        WHERE wait_event_type = 'Lock' AND pid <> $1::int8::int4
                        AND $1::int8::int4 = ANY(pg_blocking_pids(pid)))
                        """, [.int(process)])
                }
            }
            group.addTask { try await build() }
            // The first that ends is the build.
            do {
                try await group.next()
            } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
        }
    }

    /// What an operator builds by hand is not there either until it is done.
    private static let isAbandoned =
        "NOT indisvalid AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index WHERE index_relid = indexrelid)"

    /// In a task of its own, which a cancelled caller cannot cut short.
    ///
    /// - Parameter isLeftover: Whether it is only dropped if its build has ended, and it cannot be used.
    private func drop(_ name: String, _ session: PostgresSession, isLeftover: Bool = false) async {
        await Task {
            do {
                let mayGo = isLeftover ? Self.isAbandoned : "NOT (indisunique AND indisvalid)"
                let rows = try await session.query(
                    "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass($1) AND \(mayGo)",
                    [.text(SQL.identifier(name))])
                guard rows.rowCount > 0 else { return }
                _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(SQL.identifier(name))")
            } catch {
                logger.info(
                    "an index is dropped at the next turn", metadata: ["index": "\(name)", "error": "\(error)"])
            }
        }.value
    }
}

/// Indexes that could not be built, which is not tried again for a day.
private final class FailedBuilds: Sendable {
    private static let memory = Duration.seconds(86_400)
    private let failures = Mutex(BoundedTable<String, ContinuousClock.Instant>(capacity: 1000))

    func note(_ name: String) { failures.withLock { _ = $0.set(.now, for: name) } }

    func isRecent(_ name: String) -> Bool {
        failures.withLock { $0.peek(name).map { .now - $0 < Self.memory } ?? false }
    }
}
