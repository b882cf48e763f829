/// How one sending of a request goes: which results are the caller's, what failed, and what ends it.
///
/// A value that knows neither the connection nor libpq: for each result that comes it says what to do.
package struct Sending {
    /// How it goes. What is noted first counts.
    package enum Outcome {
        /// Nothing failed so far.
        case good
        /// It was not carried out because of an error in one that it shared a sync with.
        case skipped
        /// A statement failed, after so many results.
        case failed(PostgresError, after: Int)
    }

    /// What ends it. Requests that only read may share a sync, which follows the last of them.
    package enum End {
        case ownSync
        /// Its last result, since the sync follows another.
        case lastResult
        /// The sync that it shares with those before it.
        case sharedSync
    }

    /// Its place among all that its connection sent.
    package private(set) var sequence: UInt64 = 0
    package private(set) var end = End.ownSync
    package private(set) var outcome = Outcome.good
    /// The preparations that are part of it, by the place of their result, in order.
    package private(set) var preparations: [(place: Int, statement: PreparedStatement)] = []
    /// How many results it brings, those of preparations included; none where that is not known, as of a script.
    package private(set) var expected = 0
    private(set) var received = 0
    /// Results before those that the caller asked for.
    private(set) var leading = 0
    /// Cumulative result counts, one per member.
    private(set) var memberEnds: [Int] = []

    package init(sequence: UInt64 = 0, end: End = .ownSync) {
        self.sequence = sequence
        self.end = end
    }

    package mutating func addPreparation(of statement: PreparedStatement) {
        preparations.append((expected, statement))
        expected += 1
    }

    /// - Parameter isCallers: Whether its result is for the caller; those that are not come first.
    package mutating func addStatement(isCallers: Bool = true) {
        expected += 1
        if !isCallers { leading += 1 }
    }

    /// Notes that what follows is the next member's.
    package mutating func endMember() { memberEnds.append(expected) }

    /// Notes that the sync follows it, which those before it share.
    package mutating func addSync() { if end == .lastResult { end = .sharedSync } }

    /// Counts a result; whether it is the caller's, and to be kept.
    package mutating func takeResult() -> Bool {
        defer { received += 1 }
        if let preparation = preparations.first, preparation.place == received {
            // Removed when confirmed, so that those that remain at the end did not happen.
            preparations.removeFirst()
            return false
        }
        guard leading == 0 else {
            leading -= 1
            return false
        }
        return expected > 0
    }

    /// Counts a statement that failed, or that the server did not carry out where no error is given.
    package mutating func takeFailure(_ error: PostgresError?) {
        if case .good = outcome { outcome = error.map { .failed($0, after: received) } ?? .skipped }
        received += 1
    }

    /// Whether it is over without a sync: it had its last result, and the sync follows another.
    package var isOver: Bool { end == .lastResult && received == expected }

    package var error: PostgresError? { if case .failed(let error, _) = outcome { error } else { nil } }

    /// The member whose statement brought the error; nil when none did, as at the end of the transaction.
    package var failedMember: Int? {
        if case .failed(_, let place) = outcome { memberEnds.firstIndex { $0 > place } } else { nil }
    }
}
