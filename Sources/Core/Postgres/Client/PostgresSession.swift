import Synchronization

/// A connection that one caller has alone, for as long as the closure runs that was given it.
public final class PostgresSession: Sendable {
    private struct Failures {
        /// What broke the transaction off, if it was another transaction or a statement whose plan no longer fits.
        var conflict: PostgresError?
        var first: PostgresError?
        /// Whether the server refused to write at all.
        var isReadOnly = false
    }

    private let lease: Int
    private let commandQueue: CommandQueue
    private let failures = Mutex(Failures())
    private let isUnlimited = Atomic(false)

    init(lease: Int, commandQueue: CommandQueue) {
        self.lease = lease
        self.commandQueue = commandQueue
    }

    /// Runs one statement. Cancelling the task stops it on the server.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = []) async throws -> PostgresResult {
        try await query(Statement(sql, parameters))
    }

    /// Runs one statement. Cancelling the task stops it on the server.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement) async throws -> PostgresResult {
        let results = try await perform(.statements([EncodedStatement(statement)]))
        guard let result = results.first else { throw PostgresError(.server, "the statement returned no result") }
        return result
    }

    /// Runs statements in one round trip. Outside of a transaction, all of them are kept or none.
    ///
    /// - Returns: A result for each statement.
    /// - Throws: `PostgresError`, the first one.
    public func group(_ statements: [Statement]) async throws -> [PostgresResult] {
        guard !statements.isEmpty else { return [] }
        return try await perform(.statements(statements.map { try EncodedStatement($0) }))
    }

    /// Runs `body`, whose statements on this connection may take as long as they like.
    ///
    /// - Throws: What `body` throws; `PostgresError`.
    public func withoutTimeLimit<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        _ = try await query("SET statement_timeout = 0")
        isUnlimited.store(true, ordering: .relaxed)
        let result: Result<R, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        isUnlimited.store(false, ordering: .relaxed)
        // Also when the task was cancelled.
        await Task { _ = try? await query("RESET statement_timeout") }.value
        return try result.get()
    }

    // MARK: For the client

    /// Runs statements that read in one round trip, and stops them when so many bytes of a result come.
    func group(_ statements: [Statement], sizeLimit: Int) async throws -> [PostgresResult] {
        try await perform(.statements(statements.map { try EncodedStatement($0) }), sizeLimit: sizeLimit)
    }

    /// Runs several statements in one text, and resets the session.
    func execute(script: String) async throws { _ = try await perform(.script(script)) }

    /// Commits the transaction that the lease was made with.
    ///
    /// - Throws: `PostgresError`, also when the server rolled back because an error before was not passed on.
    func commit() async throws {
        let results = try await perform(.commit(Self.commitStatement))
        guard let result = results.first, result.commandTag == "ROLLBACK" else { return }
        throw failures.withLock { $0.first }
            ?? PostgresError(.server, "the transaction was rolled back", sqlState: "25P02")
    }

    /// Whether the transaction was broken off so that running it again can help.
    var wasUndoneForOthers: Bool { failures.withLock { $0.conflict != nil } }

    /// Whether the server takes no writes, so that a new connection can help.
    var metReadOnlyServer: Bool { failures.withLock { $0.isReadOnly } }

    /// Gives the connection back and waits until nothing is left of what was done on it and not committed.
    func release() async {
        let request = WaitRequest()
        // It is only ever given success.
        try? await withUnsafeThrowingContinuation { continuation in
            if request.promise.wait(with: continuation), !commandQueue.send(.release(lease: lease, request)) {
                request.promise.fulfill(.success(()))
            }
        }
    }

    /// Gives back a connection on which nothing is left to do.
    func releaseSoon() { _ = commandQueue.send(.release(lease: lease, nil)) }

    private func perform(_ content: Request.Content, sizeLimit: Int = .max) async throws -> [PostgresResult] {
        guard !Task.isCancelled else { throw PostgresError.cancelled }
        let request = Request(content, sizeLimit: sizeLimit, isUnlimited: isUnlimited.load(ordering: .relaxed))
        do {
            return try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { continuation in
                    if request.promise.wait(with: continuation),
                        !commandQueue.send(.submitLeased(request, lease: lease))
                    {
                        request.fail(.shutDown)
                    }
                }
            } onCancel: {
                _ = commandQueue.send(.cancel(request, lease: lease))
            }
        } catch let error as PostgresError {
            failures.withLock { failures in
                if failures.first == nil { failures.first = error }
                if error.isFromReadOnlyServer { failures.isReadOnly = true }
                if error.isConflict || error.isStaleStatement { failures.conflict = error }
            }
            throw error
        }
    }

    private static let commitStatement = EncodedStatement(constant: "COMMIT")
}
