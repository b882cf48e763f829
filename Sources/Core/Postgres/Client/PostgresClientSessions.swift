public import Logging
import Tasks

extension PostgresClient {
    /// Runs `body` with connections that are opened for it and closed after it.
    ///
    /// - Throws: What `body` throws; `PostgresError` of the kind `unavailable` when the server cannot be reached.
    public static func opened<R: Sendable>(
        _ configuration: PostgresConfiguration, logger: Logger, _ body: (PostgresClient) async throws -> R
    ) async throws -> R {
        let client = PostgresClient(configuration: configuration, logger: logger)
        do {
            try await client.start()
            let result = try await body(client)
            await client.shutdown()
            return result
        } catch {
            await client.shutdown()
            throw error
        }
    }

    /// Lends a connection that no other caller uses meanwhile.
    ///
    /// It is given back in any case: a transaction left open is rolled back, a broken connection is closed. What was
    /// SET in the session, or is held as a lock of the session, is for `body` to undo.
    ///
    /// - Throws: What `body` throws; `PostgresError` of the kind `unavailable` when no connection could be had in time.
    public func exclusively<R: Sendable>(_ body: @Sendable (PostgresSession) async throws -> R) async throws -> R {
        try await exclusively(in: .administration, body)
    }

    /// Lends a connection of a pool.
    ///
    /// - Parameter conflictKey: The row that the caller waits for: of several callers that do, one at a time has a
    ///   connection.
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

    /// Whether a lent connection is a session of the server, and no more than a transaction of one, as behind a pooler of
    /// transactions.
    public var hasSessions: Bool { configuration.hasSessions }

    /// Runs statements that change one row and may take long in one transaction, on a connection that keeps no other
    /// callers waiting.
    ///
    /// - Parameter conflictKey: A name for the row.
    /// - Returns: A result for each statement.
    /// - Throws: `PostgresError`, the first one; then none of the statements was carried out.
    public func changeAside(conflictKey: String, _ statements: [Statement]) async throws -> [PostgresResult] {
        try await exclusively(in: .slowWrites, conflictKey: ConflictKey(conflictKey)) { try await $0.group(statements) }
    }

    /// Runs statements in a transaction with a beginning and an end of its own: the servers that Citus sends them to begin
    /// and end with it, which they do not with what is merely sent together, or stopped and sent again.
    ///
    /// - Parameter conflictKey: A name for the one row that they change, where it is one.
    /// - Returns: A result for each statement.
    /// - Throws: `PostgresError`, the first one; then none of the statements was carried out.
    public func block(conflictKey: String? = nil, _ statements: [Statement]) async throws -> [PostgresResult] {
        try await transaction(conflictKey: conflictKey) { try await $0.group(statements) }
    }

    /// How long a transaction may take as a whole, with all its attempts.
    public var transactionTimeout: Duration { configuration.transactionTimeout }

    /// Runs `body` in a transaction and commits it; what `body` throws undoes everything.
    ///
    /// When the server broke the transaction off for the sake of another one (40001, 40P01), or takes no writes any more
    /// (25006), nothing of it was kept, and `body` is run again, after a short pause of random length. It must not leave
    /// traces elsewhere.
    ///
    /// - Parameters:
    ///   - isolation: How much of other transactions it sees.
    ///   - retries: How often it is run again at most.
    ///   - purpose: What it is for. But for administration and exports ``PostgresConfiguration/transactionTimeout`` holds for it
    ///     with all its attempts.
    ///   - conflictKey: A name for what it locks first, where that is known: of several transactions that do, one at a
    ///     time has a connection.
    /// - Throws: What `body` throws, or `PostgresError`. The kind `connectionLost` says that it is not known whether
    ///   the transaction was committed. SQLSTATE 57014 says that it took too long.
    public func transaction<R: Sendable>(
        isolation: Isolation = .readCommitted, retries: Int = 5, purpose: TransactionPurpose = .request,
        conflictKey: String? = nil,
        _ body: @Sendable (PostgresSession) async throws -> R
    ) async throws -> R {
        let begin = try EncodedStatement(Statement("BEGIN ISOLATION LEVEL \(isolation.rawValue)"))
        let end = purpose.isEndless ? nil : MonotonicInstant.now.after(configuration.transactionTimeout)
        var attempt = 0
        while true {
            let session = try await lease(
                LeaseRequest(
                    purpose: purpose.poolPurpose, prelude: begin, conflictKey: conflictKey.map(ConflictKey.init),
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

    /// Runs a statement that reads and can take long, on a connection of its own. It is stopped on the server when the
    /// task is cancelled, or when the ``CallerPresence`` of the task leaves.
    ///
    /// - Parameter timeLimit: How long it may take, where that is less than
    ///   ``PostgresConfiguration/statementTimeout``; such statements have connections of their own.
    /// - Throws: `PostgresError`.
    public func slowQuery(_ statement: Statement, timeLimit: Duration? = nil) async throws -> PostgresResult {
        guard let timeLimit else { return try await last(of: [statement], in: .slowReads) }
        return try await last(of: [.limitingTime(to: timeLimit), statement], in: .limitedReads)
    }

    /// Runs a statement that reads, and may keep a processor of the server busy for as long as it takes. A few run at
    /// the same time (``PostgresConfiguration/heavyConnections``), the others wait their turn, so that there are
    /// processors left for all other callers. It is stopped like those of ``slowQuery(_:)``.
    ///
    /// - Throws: `PostgresError`.
    public func heavyQuery(_ statement: Statement) async throws -> PostgresResult {
        try await last(of: [statement], in: .heavyReads)
    }

    private func last(of statements: [Statement], in purpose: PoolPurpose) async throws -> PostgresResult {
        try Self.last(of: try await read(statements, in: purpose).results)
    }

    /// Runs statements in one round trip. What only reads is asked once more when its connection is lost.
    ///
    /// - Parameter sizeLimit: How many bytes of a result may come before they are stopped as a detour.
    /// - Returns: Also whether the server took so long that others should not wait behind such a statement.
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

    /// Runs several statements without parameters, as those that define tables; all of them or none, unless they begin
    /// and commit transactions of their own.
    ///
    /// What they do to their session, as with SET, ends with them.
    ///
    /// - Parameter isTimeLimited: Whether the time limit of statements holds for them.
    /// - Throws: `PostgresError`, the first one.
    public func execute(script: String, isTimeLimited: Bool = true) async throws {
        guard !script.utf8.contains(0) else {
            throw PostgresError(.server, "a script can't contain NUL", sqlState: "42601")
        }
        try await exclusively { session in
            // Not as a part of the script, in which a statement that must stand alone could not stand alone.
            if !isTimeLimited, hasSessions {
                _ = try await session.query("SET statement_timeout = 0", [])
            }
            try await session.execute(script: script)
        }
    }

    private func lease(_ request: LeaseRequest) async throws -> PostgresSession {
        let number = try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                if request.promise.wait(with: continuation), !send(.lease(request)) {
                    request.promise.fulfill(.failure(.shutDown))
                }
            }
        } onCancel: {
            if request.promise.fulfill(.failure(.cancelled)) { _ = send(.abandon(request)) }
        }
        return PostgresSession(lease: number, commandQueue: commandQueue)
    }
}

/// What a transaction is for. Each purpose has connections of its own, so that none starves another.
public enum TransactionPurpose: Sendable {
    /// One request does several things at once.
    case request
    /// A caller sent several requests that are to be one.
    case batch
    /// Classes are changed; there is no limit of time for that.
    case administration
    /// A client reads all of something, as slowly as it likes; there is no limit of time for that either.
    case export

    /// Whether it may take as long as it likes.
    var isEndless: Bool { self == .administration || self == .export }

    /// The connections that it may have.
    var poolPurpose: PoolPurpose {
        switch self {
        case .request: .transactions
        case .batch: .batches
        case .administration: .administration
        case .export: .exports
        }
    }
}

/// How much a transaction sees of others.
public enum Isolation: String, Sendable {
    /// Each statement sees what was committed before it began.
    case readCommitted = "READ COMMITTED"
    /// All statements see what was committed before the first one began.
    case repeatableRead = "REPEATABLE READ"
    /// As if transactions ran one after the other.
    case serializable = "SERIALIZABLE"
}
