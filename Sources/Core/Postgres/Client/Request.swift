import Tasks

/// A request on its way: statements that succeed or fail together, and the promise of their results.
///
/// `@unchecked Sendable`: its constants and the promise are safe to share; the fields that change are touched by the
/// I/O thread alone.
package final class Request: @unchecked Sendable {
    package enum Content: Sendable {
        /// Statements in one implicit transaction.
        case statements([EncodedStatement])
        /// Several statements as one text, outside of pipeline mode.
        case script(String)
        /// The end of a transaction, if it was begun at all.
        case commit(EncodedStatement)
    }

    let content: Content
    /// Whether it changes nothing, and so may be sent again when its answer was lost.
    let isReadOnly: Bool
    /// What it has in common with others that cost the same, if it is a read that may take long or give much: then it
    /// is stopped where it does so in the way of others.
    let shape: ReadShape?
    /// Whether it is a read that may take long.
    let isSearch: Bool
    /// Whether it is such a read whose cost is unknown.
    let isUnknown: Bool
    /// How many bytes of its result may come before it is stopped.
    let sizeLimit: Int
    /// A name for the one row that it adds or changes; nil when it does something else. Requests with the same name
    /// conflict.
    package let conflictKey: ConflictKey?
    /// Whether it may share a transaction with others that change one row each, or is several such.
    let sharesTransaction: Bool
    /// The requests of other callers that this one carries out as one; see ``init(together:)``.
    package let members: [Request]
    /// The caller of a change that may share a transaction, where that is known.
    let caller: ObjectIdentifier?
    package let promise = OneShotPromise<[PostgresResult]>()

    // MARK: Touched by the I/O thread alone

    package var attempts = 0
    /// How often its answer was lost.
    var losses = 0
    /// Until when it waits for a connection.
    var deadline: MonotonicInstant?
    /// Whether the caller has gone away, and the server shall stop.
    var isCancelled = false
    /// How its latest sending goes.
    package var sending = Sending()
    var results: [PostgresResult] = []
    /// How often it was undone for the sake of another that shared its transaction.
    package var undoings = 0
    /// Whether its latest sending kept others waiting for longer than reads may.
    package var wasSlow = false
    /// How often it was stopped in the place of another.
    package var strikes = 0
    /// Whether it prepares its statements itself, since those of the connection turned out not to be there, or not to
    /// fit. Who prepares a statement gets the error that keeps it from being prepared.
    package var preparesAnew = false
    /// Whether it gets a sync of its own, since sharing one did not do.
    package var travelsAlone = false
    /// Whether no time limit holds for its statements. Of a script it is not known how many they are.
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

    /// Several requests as one, which succeed or fail together.
    package convenience init(together members: [Request]) {
        self.init(.statements(members.flatMap(\.statements)), sharesTransaction: true, members: members)
    }

    var statements: [EncodedStatement] {
        if case .statements(let statements) = content { statements } else { [] }
    }

    /// Forgets what an earlier sending brought.
    func prepareToSend(sequence: UInt64, end: Sending.End) {
        sending = Sending(sequence: sequence, end: end)
        attempts += 1
        if !results.isEmpty { results.removeAll(keepingCapacity: true) }
    }

    /// Whether it changes a row in a transaction that others share, or could share, so that these wait for its end.
    var isGrouped: Bool { sharesTransaction && !travelsAlone }

    /// Ends the wait with what was received.
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

    /// Whether a statement among those that were carried out ended a transaction, so that sending all again would
    /// repeat what was committed.
    var hasEndedTransaction: Bool {
        results.contains { ["COMMIT", "ROLLBACK", "PREPARE TRANSACTION"].contains($0.commandTag) }
    }
}
