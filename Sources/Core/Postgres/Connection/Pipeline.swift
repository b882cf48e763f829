import DequeModule

/// What was sent on a connection and is not answered yet, in order, and what of it others consider before they follow.
package struct Pipeline {
    package private(set) var requests: Deque<Request> = []
    /// Start of the wait for the first request.
    private(set) var headSince = MonotonicInstant.now
    /// Reads sent since the last sync. They share the next one.
    private(set) var unsynced = 0
    /// How many were sent in a batch of reads.
    package private(set) var batched = 0
    /// How many change a row, or one each for several callers.
    package private(set) var changes = 0
    /// How many are reads that may take long.
    package private(set) var searches = 0
    /// How many do not only read.
    package private(set) var writes = 0

    package init() {}

    /// How many reads may share a sync: the first ones get their results when all are done.
    static let largestBatch = 16
    /// A request that takes longer, in milliseconds, marks its connection as stalled. Others then avoid it.
    private static let stallThreshold: Int64 = 20
    /// The maximum time of a read of unknown cost, in milliseconds.
    static let patience: Int64 = 50
    /// Milliseconds allowed for a batch of usually fast reads. Generous, for busy machines.
    private static let patienceOfBatch: Int64 = 200

    var first: Request? { requests.first }
    package var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    /// Whether others of the kind that only read were sent just now, and one more can share their sync.
    package func takesRead(isSearch: Bool) -> Bool {
        unsynced > 0 && unsynced < Self.largestBatch && requests.last?.isSearch == isSearch
    }

    /// Whether the first request is slow, perhaps waiting for a lock.
    private func isSlow(at now: MonotonicInstant) -> Bool {
        !isEmpty && headSince.isOlder(than: Self.stallThreshold, at: now)
    }

    /// Whether it changes rows, and is not slow, so that the next ones can wait for it.
    package func isBusyWithChanges(at now: MonotonicInstant) -> Bool { changes > 0 && !isSlow(at: now) }

    /// When requests stop waiting for the changes under way; nil when none waits.
    package func stallDeadline(at now: MonotonicInstant) -> MonotonicInstant? {
        isBusyWithChanges(at: now) ? headSince.after(.milliseconds(Self.stallThreshold)) : nil
    }

    /// How much is before a request that follows.
    package func load(at now: MonotonicInstant) -> Int {
        count + (searches > 0 ? 1000 : 0) + (isSlow(at: now) ? 1_000_000 : 0)
    }

    /// When what is under way is to be stopped; nil for never.
    ///
    /// - Parameter stoppedAt: When the server was last asked to cancel something.
    package func patienceEnd(stoppedAt: MonotonicInstant?) -> MonotonicInstant? {
        guard let first, first.isSearch else { return nil }
        let patience = Duration.milliseconds(first.isUnknown ? Self.patience : Self.patienceOfBatch)
        return max(headSince, stoppedAt ?? headSince).after(patience)
    }

    /// Adds a request that is sent now: with a sync of its own, or one that is put off.
    package mutating func append(_ request: Request, sequence: UInt64, sharesSync: Bool, at now: MonotonicInstant) {
        request.prepareToSend(sequence: sequence, end: sharesSync ? .lastResult : .ownSync)
        if sharesSync { unsynced += 1 }
        tally(request, 1)
        if requests.isEmpty { headSince = now }
        requests.append(request)
    }

    private mutating func tally(_ request: Request, _ change: Int) {
        if request.sending.end != .ownSync { batched += change }
        if request.isGrouped { changes += change }
        if request.isSearch { searches += change }
        if !request.isReadOnly { writes += change }
    }

    /// Ends the batch of those that share a sync; false where there is none.
    package mutating func endBatch() -> Bool {
        guard unsynced > 0 else { return false }
        unsynced = 0
        requests.last?.sending.addSync()
        return true
    }

    /// Takes the first, which is over.
    package mutating func popFirst(at now: MonotonicInstant) -> Request? {
        guard let request = requests.popFirst() else { return nil }
        tally(request, -1)
        request.wasSlow = headSince.isOlder(than: Self.patience, at: now)
        headSince = now
        return request
    }
}
