import DequeModule

/// The requests in flight on a connection, in order, with the counts that decide whether more can follow.
package struct Pipeline {
    package private(set) var requests: Deque<Request> = []
    /// The time at which the wait for the first request's response began.
    private(set) var headSince = MonotonicInstant.now
    /// The number of reads sent since the last sync. They share the next one.
    private(set) var unsynced = 0
    /// The number of requests in read batches.
    package private(set) var batched = 0
    /// The number of requests that are single-row changes or groups of them, except changes that are sent alone.
    package private(set) var changes = 0
    /// The number of reads that may take long.
    package private(set) var searches = 0
    /// The number of requests that aren't read-only.
    package private(set) var writes = 0

    package init() {}

    /// The maximum number of reads in a batch. Limited because the first ones get their results only when all are done.
    static let largestBatch = 16
    /// The milliseconds after which a request marks its connection as stalled, so that others avoid it.
    private static let stallThreshold: Int64 = 20
    /// The maximum time in milliseconds of a read of unknown cost on a shared connection.
    static let patience: Int64 = 50
    /// Milliseconds allowed for a batch of usually fast reads, with a margin for busy machines.
    private static let patienceOfBatch: Int64 = 200

    var first: Request? { requests.first }
    package var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    /// Whether an open batch of this kind has room for one more read.
    package func takesRead(isSearch: Bool) -> Bool {
        unsynced > 0 && unsynced < Self.largestBatch && requests.last?.isSearch == isSearch
    }

    private func isSlow(at now: MonotonicInstant) -> Bool {
        !isEmpty && headSince.isOlder(than: Self.stallThreshold, at: now)
    }

    /// Whether changes are in flight on a connection that isn't slow, so that the next ones can wait for them.
    package func isBusyWithChanges(at now: MonotonicInstant) -> Bool { changes > 0 && !isSlow(at: now) }

    /// Returns the time at which later changes stop waiting for those in flight, or nil if no change is in flight or
    /// the connection is already slow.
    package func stallDeadline(at now: MonotonicInstant) -> MonotonicInstant? {
        isBusyWithChanges(at: now) ? headSince.after(.milliseconds(Self.stallThreshold)) : nil
    }

    /// Returns the number of requests in flight, increased if they are slow or may take long.
    package func load(at now: MonotonicInstant) -> Int {
        count + (searches > 0 ? 1000 : 0) + (isSlow(at: now) ? 1_000_000 : 0)
    }

    /// Returns the time at which the first request is stopped, or nil if it has no such limit.
    ///
    /// - Parameter stoppedAt: The time at which a read was last stopped here, from which the limit starts again.
    package func patienceEnd(stoppedAt: MonotonicInstant?) -> MonotonicInstant? {
        guard let first, first.isSearch else { return nil }
        let patience = Duration.milliseconds(first.isUnknown ? Self.patience : Self.patienceOfBatch)
        return max(headSince, stoppedAt ?? headSince).after(patience)
    }

    /// Adds a request that is sent with its own sync or as part of a batch.
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

    /// Ends the current batch. Returns false if no batch was open.
    package mutating func endBatch() -> Bool {
        guard unsynced > 0 else { return false }
        unsynced = 0
        requests.last?.sending.addSync()
        return true
    }

    /// Removes the first request, which is done.
    package mutating func popFirst(at now: MonotonicInstant) -> Request? {
        guard let request = requests.popFirst() else { return nil }
        tally(request, -1)
        request.wasSlow = headSince.isOlder(than: Self.patience, at: now)
        headSince = now
        return request
    }
}
