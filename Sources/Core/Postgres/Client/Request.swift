import Limits

/// Statements that succeed or fail together, and the promise of their results.
///
/// `@unchecked Sendable`: the constants and the promise are safe to share. Only the I/O thread uses the variables.
package final class Request: @unchecked Sendable {
    package enum Content: Sendable {
        /// Statements in one implicit transaction, or in the open one.
        case statements([EncodedStatement])
        /// Several statements as one text, run outside pipeline mode.
        case script(String)
        /// The COMMIT of a transaction, skipped if it was never begun.
        case commit(EncodedStatement)
    }

    let content: Content
    /// Whether the request changes nothing and can be resent if its response is lost.
    let isReadOnly: Bool
    /// The shape of a read that may be slow or large, or nil for other requests. If the read turns out to be slow or
    /// large, it fails with ``PostgresError/detour``.
    let shape: ReadShape?
    /// Whether the request is a read that may take long.
    let isSearch: Bool
    /// Whether the request is a read that may take long and whose cost is unknown.
    let isUnknown: Bool
    /// The result size in bytes above which the request is stopped.
    let sizeLimit: Int
    /// A key for the row that the request changes, or nil for other requests. Requests with the same key conflict.
    package let conflictKey: ConflictKey?
    /// Whether the request is a single-row change, or a group of them, that can share a transaction.
    let sharesTransaction: Bool
    /// The requests that are grouped in this one (``init(together:)``), or an empty list.
    package let members: [Request]
    /// The caller of a single-row change, or nil for other requests and unknown callers.
    let caller: ObjectIdentifier?
    package let promise = OneShotPromise<[PostgresResult]>()

    // MARK: Used only on the I/O thread

    package var attempts = 0
    /// The number of lost responses. One lost because the server stopped responding counts twice.
    var losses = 0
    /// The time at which the request fails if no connection is available.
    var deadline: MonotonicInstant?
    /// Whether the server must stop the request, for example because its caller has left.
    var isCancelled = false
    /// The state of the latest attempt.
    package var sending = Sending()
    var results: [PostgresResult] = []
    /// The number of times that a shared transaction with this request was rolled back.
    package var undoings = 0
    /// Whether the latest attempt took more than 50 ms, the limit for reads of unknown cost.
    package var wasSlow = false
    /// The number of times that the cancellation of another request may have stopped this one.
    package var strikes = 0
    /// Whether the request prepares its statements itself, because those of the connection were missing or outdated. A
    /// failure to prepare them is then reported for this request.
    package var preparesAnew = false
    /// Whether the request gets its own sync, for example because the server skipped it after another request's error.
    package var travelsAlone = false
    /// Whether the wait for the response has no limit. Always true for scripts, whose number of statements is unknown.
    let isUnlimited: Bool

    package init(
        _ content: Content, isReadOnly: Bool = false, conflictKey: String? = nil, sharesTransaction: Bool = false,
        shape: ReadShape? = nil, isSearch: Bool = false, isUnknown: Bool = false, sizeLimit: Int = .max,
        isUnlimited: Bool = false, members: [Request] = []
    ) {
        self.isUnlimited = if case .script = content { true } else { isUnlimited }
        self.content = content
        self.isReadOnly = isReadOnly
        self.shape = shape
        self.isSearch = isSearch
        self.isUnknown = isUnknown
        self.sizeLimit = sizeLimit
        self.conflictKey = conflictKey.map(ConflictKey.init)
        self.sharesTransaction = sharesTransaction
        caller = sharesTransaction && members.isEmpty ? CallerPresence.current.map { ObjectIdentifier($0) } : nil
        self.members = members
    }

    /// Groups requests into one. They succeed or fail together.
    package convenience init(together members: [Request]) {
        self.init(.statements(members.flatMap(\.statements)), sharesTransaction: true, members: members)
    }

    var statements: [EncodedStatement] {
        if case .statements(let statements) = content { statements } else { [] }
    }

    /// Begins a new attempt, and clears the results of the previous one.
    func prepareToSend(sequence: UInt64, end: Sending.End) {
        sending = Sending(sequence: sequence, end: end)
        attempts += 1
        if !results.isEmpty { results.removeAll(keepingCapacity: true) }
    }

    /// Whether the request is a change in a transaction that is or could be shared. Later changes wait for it.
    var isGrouped: Bool { sharesTransaction && !travelsAlone }

    /// Fulfills the promises with the results or the error.
    func finish() {
        if let error = sending.error { return fail(error) }
        var rest = results[...]
        for member in members {
            let count = member.statements.count
            member.promise.fulfill(.success(Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        promise.fulfill(.success(results))
    }

    package func fail(_ error: PostgresError) {
        for member in members { member.fail(error) }
        promise.fulfill(.failure(error))
    }

    /// Whether one of the statements ended a transaction, so that a resend would repeat what was committed.
    var hasEndedTransaction: Bool {
        results.contains { ["COMMIT", "ROLLBACK", "PREPARE TRANSACTION"].contains($0.commandTag) }
    }
}
