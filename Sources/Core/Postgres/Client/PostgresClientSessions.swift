import Limits
public import Logging

extension PostgresClient {
    /// Runs `body` with a new client, which is shut down afterward.
    ///
    /// - Parameter start: Connects the client.
    /// - Throws: The error of `body`, or `PostgresError` if the client can't connect.
    public static func opened<R: Sendable>(
        _ configuration: PostgresConfiguration, logger: Logger,
        start: (PostgresClient) async throws -> Void = { try await $0.start() },
        _ body: (PostgresClient) async throws -> R
    ) async throws -> R {
        let client = PostgresClient(configuration: configuration, logger: logger)
        do {
            try await start(client)
            let result = try await body(client)
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    /// Lends `body` a connection that no other caller can use until `body` returns.
    ///
    /// Afterward, an open transaction is rolled back and a broken connection is closed. `body` must undo its SET
    /// commands and release its session locks.
    ///
    /// - Throws: The error of `body`, or `PostgresError` if it got no connection.
    public func exclusively<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        try await exclusively(in: .administration, body)
    }

    /// Lends `body` a connection from the pool for `purpose`.
    ///
    /// - Parameter conflictKey: A key for the row that the caller waits for, or nil if unknown. One caller per key gets
    ///   a connection at a time.
    func exclusively<R: Sendable>(
        in purpose: PoolPurpose, conflictKey: ConflictKey? = nil, _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R {
        let session = try await lease(LeaseRequest(purpose: purpose, conflictKey: conflictKey))
        do {
            let result = try await body(session)
            await session.release()
            return result
        } catch {
            await session.release()
            throw error
        }
    }

    /// Whether connections lent by ``exclusively(_:)`` keep their server session. False behind a transaction pooler if
    /// the server's own address is unknown.
    public var hasSessions: Bool { configuration.hasSessions }

    /// Runs statements that change one row and may take long, in one transaction on a separate connection.
    ///
    /// - Parameter conflictKey: A name for the row.
    /// - Returns: One result per statement.
    /// - Throws: The first `PostgresError`. No statement takes effect, unless the connection was lost.
    public func changeAside(conflictKey: String, _ statements: [Statement]) async throws -> [PostgresResult] {
        try await group(statements, in: .slowWrites, conflictKey: ConflictKey(conflictKey))
    }

    /// Runs statements in one transaction on a separate connection. Repeats them once if they conflict with another
    /// transaction, except for administration.
    func group(_ statements: [Statement], in purpose: PoolPurpose, conflictKey: ConflictKey?) async throws
        -> [PostgresResult]
    {
        try await exclusively(in: purpose, conflictKey: conflictKey) { session in
            do {
                return try await session.group(statements)
            } catch let error as PostgresError where error.isConflict && purpose != .administration {
                return try await session.group(statements)
            }
        }
    }

    /// Runs statements in an explicit transaction. Citus needs one: for statements that are only sent together, or
    /// stopped and resent, it doesn't begin or end transactions on its worker servers.
    ///
    /// - Parameter conflictKey: A name for the row if the statements change only one.
    /// - Returns: One result per statement.
    /// - Throws: The first `PostgresError`. No statement takes effect, unless the connection was lost.
    public func block(conflictKey: String? = nil, _ statements: [Statement]) async throws -> [PostgresResult] {
        try await transaction(conflictKey: conflictKey) { try await $0.group(statements) }
    }

    /// The time limit of a transaction, including all attempts.
    public var transactionTimeout: Duration { configuration.transactionTimeout }

    /// Runs `body` in a transaction and commits it, or rolls it back if `body` throws.
    ///
    /// `body` must not have other side effects, because it may run again after a short random pause: up to `retries`
    /// times if the server aborts the transaction because of another one (40001, 40P01) or an outdated prepared
    /// statement, and once if the server is read-only (25006).
    ///
    /// - Parameters:
    ///   - retries: The maximum number of attempts after the first.
    ///   - purpose: The kind of work. Except for administration and exports,
    ///     ``PostgresConfiguration/transactionTimeout`` limits the total time of all attempts.
    ///   - conflictKey: A name for the row that `body` locks first, or nil if unknown. One transaction per key gets a
    ///     connection at a time.
    /// - Throws: The error of `body`, or `PostgresError`. The kind `connectionLost` means that the transaction may have
    ///   been committed. SQLSTATE 57014 means that it took too long, or was stopped because other senders waited.
    public func transaction<R: Sendable>(
        isolation: Isolation = .readCommitted, retries: Int = 5, purpose: PoolPurpose = .transactions,
        conflictKey: String? = nil,
        _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R {
        let begin = try EncodedStatement(Statement("BEGIN ISOLATION LEVEL \(isolation.rawValue)"))
        let end = purpose.isEndless ? nil : MonotonicInstant.now.after(configuration.transactionTimeout)
        var attempt = 0
        while true {
            let session = try await lease(
                LeaseRequest(
                    purpose: purpose, prelude: begin, conflictKey: conflictKey.map(ConflictKey.init),
                    end: end))
            do {
                let result = try await body(session)
                try await session.commit()
                session.releaseSoon()
                return result
            } catch {
                await session.release()
                let isLate = end.map { $0 <= .now } ?? false
                let mayHelp = session.wasUndoneForOthers || (attempt == 0 && session.metReadOnlyServer)
                guard attempt < retries, mayHelp, !isLate, !Task.isCancelled else { throw error }
            }
            attempt += 1
            do {
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...(4 << min(attempt, 8)))))
            } catch {
                throw PostgresError.cancelled
            }
        }
    }

    /// Runs a read that can take long, on a separate connection. The server stops it if the task is cancelled or its
    /// caller leaves (``CallerPresence``).
    ///
    /// - Parameter timeLimit: A time limit instead of ``PostgresConfiguration/statementTimeout``, or nil to use that.
    ///   Reads with a time limit have a separate pool.
    /// - Throws: `PostgresError`.
    public func slowQuery(_ statement: Statement, timeLimit: Duration? = nil) async throws -> PostgresResult {
        guard let timeLimit else { return try await last(of: [statement], in: .slowReads) }
        return try await last(of: [.limitingTime(to: timeLimit), statement], in: .limitedReads)
    }

    /// Runs a read that may keep one CPU of the server busy until it is done. At most
    /// ``PostgresConfiguration/heavyConnections`` run at a time and the others wait, so that CPUs are left for other
    /// callers. Like ``slowQuery(_:timeLimit:)``, it is stopped when its caller leaves.
    ///
    /// - Throws: `PostgresError`.
    public func heavyQuery(_ statement: Statement) async throws -> PostgresResult {
        try await last(of: [statement], in: .heavyReads)
    }

    private func last(of statements: [Statement], in purpose: PoolPurpose) async throws -> PostgresResult {
        try Self.last(of: try await read(statements, in: purpose).results)
    }

    /// Runs reads in one round trip, and repeats them once if the connection is lost.
    ///
    /// - Parameter sizeLimit: The result size in bytes above which the reads are stopped with ``PostgresError/detour``.
    /// - Returns: The results, and whether they took more than 50 ms, which is too slow for a shared connection.
    func read(_ statements: [Statement], in purpose: PoolPurpose, sizeLimit: Int = .max) async throws
        -> (results: [PostgresResult], isSlow: Bool)
    {
        do {
            return try await readOnce(statements, in: purpose, sizeLimit)
        } catch let error as PostgresError where error.kind == .connectionLost {
            return try await readOnce(statements, in: purpose, sizeLimit)
        }
    }

    private func readOnce(_ statements: [Statement], in purpose: PoolPurpose, _ sizeLimit: Int) async throws
        -> (results: [PostgresResult], isSlow: Bool)
    {
        @Sendable func ask() async throws -> (results: [PostgresResult], isSlow: Bool) {
            try await exclusively(in: purpose) { session in
                let start = MonotonicInstant.now
                let results = try await session.group(statements, sizeLimit: sizeLimit)
                return (results, start.isOlder(than: Pipeline.patience, at: .now))
            }
        }
        guard let caller = CallerPresence.current else { return try await ask() }
        return try await caller.whilePresent(ask)
    }

    /// Runs several statements without parameters as one script, such as table definitions. Either all of them take
    /// effect or none, unless the script begins and commits transactions itself.
    ///
    /// Changes to the session, such as SET, are undone afterward. The statement timeout applies only without
    /// ``hasSessions``.
    ///
    /// - Throws: The first `PostgresError`.
    public func execute(script: String) async throws {
        guard !script.utf8.contains(0) else {
            throw PostgresError(.server, "a script can't contain NUL", sqlState: "42601")
        }
        try await exclusively { session in
            // Sent before the script, because a statement such as VACUUM must be sent alone.
            if hasSessions { _ = try await session.query("SET statement_timeout = 0") }
            try await session.execute(script: script)
        }
    }

    private func lease(_ request: LeaseRequest) async throws -> PostgresSession {
        let lease = try await withTaskCancellationHandler {
            try await request.promise.value { send(.lease(request)) }
        } onCancel: {
            if request.promise.fulfill(.failure(.cancelled)) { _ = send(.abandon(request)) }
        }
        return PostgresSession(lease, commandQueue: commandQueue)
    }
}

/// The isolation level of a transaction.
public enum Isolation: String, Sendable {
    /// Each statement sees what was committed before it began.
    case readCommitted = "READ COMMITTED"
    /// All statements see what was committed before the first one began.
    case repeatableRead = "REPEATABLE READ"
    /// Transactions behave as if they ran one after the other.
    case serializable = "SERIALIZABLE"
}
