import Synchronization

/// A request on its way: statements that succeed or fail together, and who waits for their results.
///
/// `@unchecked Sendable`: after it was handed over, only the I/O thread touches the fields that change.
final class Work: @unchecked Sendable {
    /// Where the results go.
    typealias Completion = @Sendable (Result<[PostgresResult], PostgresError>) -> Void

    let statements: [EncodedStatement]
    /// Whether it may be sent again when its answer was lost.
    let isReadOnly: Bool
    /// Whether it stands for itself, so that it may be sent again when the server undid it.
    let isAutocommit: Bool
    let complete: Completion
    /// When waiting for a connection ends, by the clock of the I/O thread.
    let deadline: ContinuousClock.Instant

    /// How often it was sent.
    var attempts = 0
    /// What was received so far.
    var results: [PostgresResult] = []
    /// The first error.
    var error: PostgresError?
    /// For each statement, whether preparing it is part of this sending.
    var prepares: [Bool] = []
    /// How many preparations the server confirmed.
    var confirmed = 0
    /// How many results came, those of preparations included.
    var received = 0

    init(
        _ statements: [Statement], isReadOnly: Bool, isAutocommit: Bool, deadline: ContinuousClock.Instant,
        complete: @escaping Completion
    ) {
        self.statements = statements.map(EncodedStatement.init)
        self.isReadOnly = isReadOnly
        self.isAutocommit = isAutocommit
        self.deadline = deadline
        self.complete = complete
    }

    /// Forgets what an earlier sending brought.
    func restart() {
        results.removeAll(keepingCapacity: true)
        prepares.removeAll(keepingCapacity: true)
        error = nil
        received = 0
        confirmed = 0
    }

    /// Ends the wait.
    func finish() {
        if let error {
            complete(.failure(error))
        } else {
            complete(.success(results))
        }
    }
}
