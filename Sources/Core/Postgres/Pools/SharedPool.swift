import DequeModule

/// The connections shared by all callers.
///
/// Writes other than single-row changes are sent immediately, each as a transaction with its own sync. If there are
/// several connections, the first carries no writes, so that reads don't wait for the disk flush of another request.
///
/// Single-row changes share transactions, so that the server commits and flushes once for several. One such transaction
/// is in flight at a time unless it is slow, and the changes that arrive meanwhile form the next. If one change fails,
/// the transaction is rolled back: the failed change is resent alone, the others together. Callers whose changes failed
/// recently send theirs alone.
///
/// Lock waits and run times are limited here (``PostgresConfiguration/sharedLockTimeout``,
/// ``PostgresConfiguration/sharedStatementTimeout``). The server stops statements that exceed the limits, and their
/// callers repeat them on separate connections. For the next second, requests with the same conflict key also use
/// separate connections. The limits don't apply to the commit itself: nothing runs twice, and nothing is confirmed
/// before a synchronous standby has it.
///
/// Reads that may take long use all connections but the first, so that others never wait behind them. If such a read
/// keeps a connection too long, it is stopped, and its caller repeats it on a separate connection. Of the reads with
/// unknown cost, one at a time is tried on the last connection. The callers of the others use separate connections.
///
/// Reads are sent in batches of up to 16 that share a sync and a transaction. Each connection has one batch in flight,
/// and the reads that arrive meanwhile form the next. So batches grow with the load, and without load no read waits.
/// Reads that the server skips because of another's error are resent.
package final class SharedPool: ConnectionPool {
    let context: LoopContext
    package private(set) var connections: [Connection] = []
    private var reads: Deque<Request> = []
    /// Reads that may take long and wait for a connection.
    var searches: Deque<Request> = []
    /// Single-row changes that wait for the transaction in flight.
    var changes = GroupCommitQueue()
    /// Callers whose changes failed recently.
    var refusals = RecentEntries<ObjectIdentifier>()
    /// Conflict keys of rows with a recent lock timeout or slow change.
    var lockedKeys = RecentEntries<ConflictKey>()
    private var backlog: Deque<Request> = []
    /// Requests rolled back because of others, with the time of their next attempt.
    var postponed: [(MonotonicInstant, Request)] = []
    private var starters: [WaitRequest] = []
    private var startDeadline = MonotonicInstant.now
    private var lastFailure: PostgresError?
    private var wasConnected = false

    package init(_ context: LoopContext) {
        self.context = context
        let configuration = context.configuration
        // Each statement uses one CPU of the server and leaves the others to other callers.
        let parameters = ConnectionParameters(
            configuration, lockTimeout: configuration.sharedLockTimeout,
            timeLimit: configuration.sharedStatementTimeout, isParallel: false)
        for _ in 0..<max(1, configuration.sharedConnections) {
            let connection = Connection(context, pool: self, parameters)
            connection.reopening = context.now
            connections.append(connection)
        }
    }

    package var waiting: Int { reads.count + searches.count + changes.count + backlog.count + postponed.count }

    package var nextDeadline: MonotonicInstant? {
        var earliest = EarliestInstant()
        for connection in connections {
            earliest.consider(connection.reopening)
            earliest.consider(connection.deadline)
            earliest.consider(connection.inFlight.stallDeadline(at: context.now))
            earliest.consider(connection.patienceEnd)
        }
        for (instant, _) in postponed { earliest.consider(instant) }
        earliest.consider(backlog.first?.deadline)
        return earliest.instant
    }

    /// The kinds of requests that can be sent now and are worth waking the thread.
    package var wakeCondition: WakeCondition {
        guard connections.contains(where: \.takesRequests) else { return WakeCondition() }
        return WakeCondition(
            reads: connectionForReads() != nil, searches: connectionForSearches() != nil,
            changes: !isBusyWithChanges)
    }

    /// Whether no request waits or is in flight.
    var isIdle: Bool { waiting == 0 && connections.allSatisfy(\.inFlight.isEmpty) }

    /// Reports when the first connection is ready, or why it could not be opened.
    func start(_ request: WaitRequest) {
        if connections.contains(where: \.isReady) {
            request.promise.fulfill(.success(()))
        } else {
            startDeadline = context.now.after(context.configuration.connectTimeout)
            starters.append(request)
        }
    }

    /// Sends a request on the connection with the lowest load, or queues it. Fails a request that must not use a shared
    /// connection.
    package func submit(_ request: Request) {
        guard !request.promise.isFulfilled else { return }
        if lockedKeys.include(request.conflictKey, at: context.now) { return request.fail(.rowIsLocked) }
        if isBarred(request) { return request.fail(.detour) }
        if refusals.include(request.caller, at: context.now) { request.travelsAlone = true }
        let isOpen = connections.contains(where: \.takesRequests)
        if request.isSearch, isOpen {
            guard request.isUnknown else {
                searches.append(request)
                return sendSearches()
            }
            if connectionForUnknown?.send(request) != true { request.fail(.detour) }
            return
        }
        if !request.travelsAlone, isOpen {
            if request.isReadOnly {
                reads.append(request)
                return sendReads()
            }
            // Sent with the next tick, together with all changes that arrive until then.
            if request.sharesTransaction { return changes.append(request) }
        }
        let connection = request.isReadOnly ? leastBusy() : leastBusyForWrites()
        if let connection, connection.send(request) { return }
        if context.isStopping { return request.fail(.shutDown) }
        wait(request)
    }

    private func sendReads() {
        while let request = reads.first {
            if isBarred(request) {
                request.fail(.detour)
            } else if !request.promise.isFulfilled {
                guard let connection = connectionForReads(), connection.sendInBatch(request) else { return }
            }
            reads.removeFirst()
        }
    }

    private func sendChanges() {
        while !changes.isEmpty, !isBusyWithChanges,
            let connection = leastBusyForWrites(where: { $0.inFlight.changes == 0 })
        {
            guard let request = changes.next() else { continue }
            guard !connection.send(request) else { continue }
            for member in request.members.isEmpty ? [request] : request.members { wait(member) }
        }
    }

    private func wait(_ request: Request) {
        if request.deadline == nil { request.deadline = context.now.after(context.configuration.connectTimeout) }
        backlog.append(request)
    }

    package func tick() {
        renew()
        for connection in connections {
            connection.checkDeadline()
            if let due = connection.reopening, due <= context.now, !context.isStopping {
                connection.reopening = nil
                connection.open()
            }
        }
        stopSlowSearches()
        if connections.contains(where: \.takesRequests) {
            sendReads()
            sendSearches()
            sendChanges()
        } else {
            for request in drainQueues() { wait(request) }
        }
        let due = postponed.filter { $0.0 <= context.now || context.isStopping }
        if !due.isEmpty {
            postponed.removeAll { $0.0 <= context.now || context.isStopping }
            for (_, request) in due { submit(request) }
        }
        while let first = backlog.first, first.promise.isFulfilled || context.isStopping || isOverdue(first) {
            backlog.removeFirst()
            first.fail(context.isStopping ? .shutDown : unavailable)
        }
    }

    private func isOverdue(_ request: Request) -> Bool { request.deadline.map { $0 <= context.now } ?? false }

    private var unavailable: PostgresError {
        lastFailure ?? PostgresError(.unavailable, "PostgreSQL did not respond in time")
    }

    package func didConnect(_ connection: Connection) {
        connection.backOff = BackOff()
        if lastFailure != nil { context.logger.info("connected to PostgreSQL\(wasConnected ? " again" : "")") }
        wasConnected = true
        lastFailure = nil
        for starter in starters { starter.promise.fulfill(.success(())) }
        starters.removeAll()
        let requests = backlog
        backlog.removeAll()
        for request in requests { submit(request) }
    }

    package func didOutgrow(_ connection: Connection, _ handle: OpaquePointer) {
        // A write may have committed already, so it must not be reported as failed.
        guard let head = connection.inFlight.first, head.isReadOnly else { return }
        // If writes are in flight, only the read is cancelled. Requests that share its sync are skipped and resent.
        guard
            connection.inFlight.writes == 0
                || context.cancellations.send(to: handle, lease: nil, through: context.commandQueue)
        else {
            connection.isOutgrown = false
            return
        }
        if let shape = head.shape { context.history.recordOutgrown(shape) }
        head.fail(head.sizeLimit < .max ? .detour : .tooLarge)
    }

    /// Reopens idle connections with large libpq buffers or a read-only server, and connections that receive a result
    /// that is too large, unless writes are in flight on them.
    private func renew() {
        for connection in connections {
            let isOutgrown = connection.isOutgrown && connection.inFlight.writes == 0
            let isSpent = connection.isSwollen || connection.isOutdated
            guard connection.isReady, isOutgrown || isSpent && connection.inFlight.isEmpty else { continue }
            let lost = Array(connection.inFlight.requests)
            connection.close()
            connection.reopening = context.now
            for request in lost { submit(request) }
        }
    }

    package func didBreak(_ connection: Connection, losing requests: [Request], because reason: PostgresError) {
        connection.reopening = context.now.after(connection.backOff.next())
        // Before the first connection, start() reports the error.
        if lastFailure == nil, wasConnected, !context.isStopping {
            context.logger.warning(
                "connection to PostgreSQL lost", metadata: ["reason": "\(reason)", "underWay": "\(requests.count)"])
        }
        lastFailure = reason
        lastFailure?.kind = .unavailable
        failStarters()
        if context.configuration.failsWhenRefused, reason.kind == .unavailable,
            !connections.contains(where: \.isReady)
        {
            for request in backlog { request.fail(unavailable) }
            backlog.removeAll()
        }
        for (index, request) in requests.enumerated() {
            // A request that made the server unresponsive may block the next connection as well, so a read of known
            // shape uses a separate connection, and other reads are resent at most once.
            let isCause = index == 0 && connection.wasSilent
            request.losses += isCause ? 2 : 1
            if isCause, let shape = historicShape(of: request) {
                context.history.record(isSlow: true, shape)
                request.fail(.detour)
            } else if request.isReadOnly, request.losses < 3, !context.isStopping {
                // Waits for a new connection, because the others are about to break if the server goes down.
                wait(request)
            } else {
                var error = reason
                error.kind = .connectionLost
                request.fail(error)
            }
        }
    }

    private func failStarters() {
        let failure = unavailable
        // 57P03: the server is starting up or recovering, and will soon accept connections.
        if failure.sqlState == "57P03", context.now < startDeadline { return }
        for starter in starters { starter.promise.fulfill(.failure(failure)) }
        starters.removeAll()
    }

    /// Fails everything that waits, when the client shuts down.
    func end() {
        for starter in starters { starter.promise.fulfill(.failure(.shutDown)) }
        for request in drainQueues() + backlog + postponed.map(\.1) { request.fail(.shutDown) }
        (starters, backlog, postponed) = ([], [], [])
    }

    private func drainQueues() -> Deque<Request> {
        defer { (reads, searches) = ([], []) }
        return reads + searches + changes.removeAll()
    }
}
