import Synchronization

/// A connection lent to one caller until the closure that received it returns.
public final class PostgresSession: Sendable {
    private struct Failures {
        /// The error that aborted the transaction, if the cause was another transaction or an outdated prepared
        /// statement.
        var conflict: PostgresError?
        var first: PostgresError?
        var isReadOnly = false
    }

    private let lease: Lease
    private let commandQueue: CommandQueue
    private let failures = Mutex(Failures())
    private let isUnlimited = Atomic(false)

    init(_ lease: Lease, commandQueue: CommandQueue) {
        self.lease = lease
        self.commandQueue = commandQueue
    }

    /// Runs one statement. The server stops it if the task is cancelled.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = []) async throws -> PostgresResult {
        try await query(Statement(sql, parameters))
    }

    /// Runs one statement. The server stops it if the task is cancelled.
    ///
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement) async throws -> PostgresResult {
        try PostgresClient.last(of: try await perform(.statements([EncodedStatement(statement)])))
    }

    /// Runs statements in one round trip. Outside a transaction, either all of them take effect or none.
    ///
    /// - Parameter sizeLimit: The result size in bytes above which the server stops the statements.
    /// - Returns: One result per statement.
    /// - Throws: The first `PostgresError`.
    public func group(_ statements: [Statement], sizeLimit: Int = .max) async throws -> [PostgresResult] {
        guard !statements.isEmpty else { return [] }
        return try await perform(.statements(statements.map { try EncodedStatement($0) }), sizeLimit: sizeLimit)
    }

    /// Runs `body` without a statement timeout on this connection.
    ///
    /// - Throws: The error of `body`, or `PostgresError`.
    public func withoutTimeLimit<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        _ = try await query("SET statement_timeout = 0")
        isUnlimited.store(true, ordering: .relaxed)
        let result: Result<R, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        isUnlimited.store(false, ordering: .relaxed)
        // A separate task runs even if this one was cancelled.
        await Task { _ = try? await query("RESET statement_timeout") }.value
        return try result.get()
    }

    // MARK: For the client

    /// Runs a script, then resets the session.
    func execute(script: String) async throws { _ = try await perform(.script(script)) }

    /// Commits the transaction of the lease.
    ///
    /// - Throws: `PostgresError`, also if the server rolled back because of an earlier error that the caller ignored.
    func commit() async throws {
        let results = try await perform(.commit(Self.commitStatement))
        guard let result = results.first, result.commandTag == "ROLLBACK" else { return }
        throw failures.withLock { $0.first }
            ?? PostgresError(.server, "the transaction was rolled back", sqlState: "25P02")
    }

    /// Whether the server aborted the transaction and a retry can help.
    var wasUndoneForOthers: Bool { failures.withLock { $0.conflict != nil } }

    /// Whether the server is read-only, so that a new connection can help.
    var metReadOnlyServer: Bool { failures.withLock { $0.isReadOnly } }

    /// Returns the connection to its pool, and waits until it is clean: uncommitted work is rolled back.
    func release() async {
        let request = WaitRequest()
        // Fails only if the client has ended, which closed the connection.
        try? await request.promise.value { commandQueue.send(.release(lease, request)) }
    }

    /// Gives a clean connection back to its pool without waiting.
    func releaseSoon() { _ = commandQueue.send(.release(lease, nil)) }

    private func perform(_ content: Request.Content, sizeLimit: Int = .max) async throws -> [PostgresResult] {
        guard !Task.isCancelled else { throw PostgresError.cancelled }
        let request = Request(content, sizeLimit: sizeLimit, isUnlimited: isUnlimited.load(ordering: .relaxed))
        do {
            return try await withTaskCancellationHandler {
                try await request.promise.value { commandQueue.send(.submitLeased(request, lease)) }
            } onCancel: {
                _ = commandQueue.send(.cancel(request, lease))
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
