/// One attempt to send a request: the result counts, the first failure and the event that ends it.
///
/// It is independent of the connection and of libpq.
package struct Sending {
    /// The outcome so far. The first failure counts.
    package enum Outcome {
        /// Nothing failed so far.
        case good
        /// The server skipped the request because of an error in another one with the same sync.
        case skipped
        /// A statement failed after this many results.
        case failed(PostgresError, after: Int)
    }

    /// The event that ends the attempt. Reads in a batch share a sync, which follows the last of them.
    package enum End {
        case ownSync
        /// The last result. The sync follows another request.
        case lastResult
        /// The sync that the request shares with those before it.
        case sharedSync
    }

    /// The sequence number of the request on its connection.
    package private(set) var sequence: UInt64 = 0
    package private(set) var end = End.ownSync
    package private(set) var outcome = Outcome.good
    /// The preparations that are not confirmed yet, in order, each with the index of its result.
    package private(set) var preparations: [(place: Int, statement: PreparedStatement)] = []
    /// The number of results, including those of preparations, or 0 if unknown, as for a script.
    package private(set) var expected = 0
    private(set) var received = 0
    /// The number of results to drop before the caller's.
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

    /// - Parameter isCallers: Whether the result is for the caller. Other results must come first.
    package mutating func addStatement(isCallers: Bool = true) {
        expected += 1
        if !isCallers { leading += 1 }
    }

    /// Marks the end of a member's statements.
    package mutating func endMember() { memberEnds.append(expected) }

    /// Marks the request as the last of a batch, followed by the shared sync.
    package mutating func addSync() { if end == .lastResult { end = .sharedSync } }

    /// Counts a result. Returns whether it is for the caller.
    package mutating func receiveResult() -> Bool {
        defer { received += 1 }
        if let preparation = preparations.first, preparation.place == received {
            // Confirmed preparations are removed, so those left at the end didn't succeed.
            preparations.removeFirst()
            return false
        }
        guard leading == 0 else {
            leading -= 1
            return false
        }
        return expected > 0
    }

    /// Counts a statement that failed, or that the server skipped if `error` is nil.
    package mutating func receiveFailure(_ error: PostgresError?) {
        if case .good = outcome { outcome = error.map { .failed($0, after: received) } ?? .skipped }
        received += 1
    }

    /// Whether the attempt has ended with its last result, because the sync follows another request.
    package var isOver: Bool { end == .lastResult && received == expected }

    package var error: PostgresError? { if case .failed(let error, _) = outcome { error } else { nil } }

    /// The index of the member whose statement failed, or nil if none did, as with a failed commit.
    package var failedMember: Int? {
        if case .failed(_, let place) = outcome { memberEnds.firstIndex { $0 > place } } else { nil }
    }
}
