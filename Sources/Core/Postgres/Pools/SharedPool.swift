import CLibpq
import DequeModule

/// The connections that all callers share.
///
/// A request that writes is sent at once. It is a transaction of its own, and ends with a sync of its own, so that an
/// error in one leaves its neighbours alone. One connection is without writes, so that no read has to wait
/// until the disk has what another request wrote.
///
/// Requests that change one row each share a transaction, so that the server commits and waits for the disk once for
/// several. There is one such transaction under way, and the changes that come meanwhile make up the next. When one of
/// them fails, none was carried out: that one is sent again by itself, the others together. Callers whose changes
/// failed lately send theirs alone.
///
/// No statement waits long for a lock here, or takes long (``PostgresConfiguration/sharedLockTimeout``,
/// ``PostgresConfiguration/sharedStatementTimeout``): the server stops it, and its caller then takes a connection of its
/// own, where it keeps no others waiting. So do all requests with the same conflict key within the next second. These
/// limits end before a commit begins, so that nothing is done twice, or answered before a standby has it.
///
/// Reads that may take long go on all connections but the first, so that others never stand behind one. One that keeps
/// a connection for more than a moment is stopped, and its caller takes a connection of its own. Of those whose cost is
/// unknown, one at a time is tried on the last connection; the callers of the others take connections of their own.
///
/// Requests that only read go in read batches: a few of them share a sync, and thus a packet and a transaction. Of
/// these there is one batch under way on each connection, and the reads that come meanwhile make up the next. That way
/// read batches are as large as the load asks for, and no read waits where there is none. What an error keeps from
/// being carried out is sent again.
package final class SharedPool: ConnectionPool {
    let context: LoopContext
    package private(set) var connections: [Connection] = []
    /// Reads waiting for earlier ones to be answered.
    private var reads: Deque<Request> = []
    /// Reads that may take long, and wait likewise.
    var searches: Deque<Request> = []
    /// Single-row changes waiting for earlier ones to be answered.
    var changes = GroupCommitQueue()
    /// Callers whose changes were refused lately.
    var refusals = RecentEntries<ObjectIdentifier>(memory: 1000)
    /// Conflict keys of rows with a recent lock timeout or slow change.
    var lockedKeys = RecentEntries<ConflictKey>(memory: 1000)
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
        // A statement gets one processor of the server, and leaves the others to the other callers.
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

    /// What is worth waking up for.
    package var wakeCondition: WakeCondition {
        guard connections.contains(where: \.takesRequests) else { return WakeCondition() }
        return WakeCondition(
            reads: connectionForReads() != nil, searches: connectionForSearches() != nil,
            changes: !isBusyWithChanges)
    }

    /// Whether nothing is under way.
    var isIdle: Bool { waiting == 0 && connections.allSatisfy(\.inFlight.isEmpty) }

    /// Reports the first connection, or why there is none.
    func start(_ request: WaitRequest) {
        if connections.contains(where: \.isReady) {
            request.promise.fulfill(.success(()))
        } else {
            startDeadline = context.now.after(context.configuration.connectTimeout)
            starters.append(request)
        }
    }

    /// Sends a request on the connection with the fewest before it, or lets it wait.
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
            // Sent with the next tick, when all that came meanwhile are here.
            if request.sharesTransaction { return changes.append(request) }
        }
        let connection = request.isReadOnly ? leastBusy() : leastBusyForWrites()
        if let connection, connection.send(request) { return }
        if context.isStopping { return request.fail(.shutDown) }
        wait(request)
    }

    private func sendReads() {
        while let request = reads.first {
            if !request.promise.isFulfilled {
                guard let connection = connectionForReads(), connection.sendInBatch(request) else { return }
            }
            reads.removeFirst()
        }
    }

    /// Sends single-row changes once earlier ones are done or unusually slow.
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
            for request in takeQueued() { wait(request) }
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
        // What a write did may be committed by now: its caller must not hear that it was not.
        guard let head = connection.inFlight.first, head.isReadOnly else { return }
        // What shared its sync is skipped by the server, and sent again.
        guard
            connection.inFlight.writes == 0
                || context.cancellations.send(to: handle, lease: 0, through: context.commandQueue)
        else {
            connection.isOutgrown = false
            return
        }
        if let shape = head.shape { context.history.noteOutgrown(shape) }
        head.fail(head.sizeLimit < .max ? .detour : .tooLarge)
    }

    /// Closes connections for renewal: idle ones with large libpq buffers or a read-only server, and those receiving a
    /// result that no caller wants, whose next row would be buffered whole.
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
        // Until the first connection, the caller of start() gets the error.
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
            // What the server is silent about keeps the next connection as long: it is not sent there again and again.
            let isCause = index == 0 && connection.wasSilent
            request.losses += isCause ? 2 : 1
            if isCause, let shape = request.shape {
                context.history.note(isSlow: true, shape)
                request.fail(.detour)
            } else if request.isReadOnly, request.losses < 3, !context.isStopping {
                // For a new one: when the server goes down, the other connections are about to break as well.
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
        // 57P03: the server is starting up, or recovering, and will be there soon.
        if failure.sqlState == "57P03", context.now < startDeadline { return }
        for starter in starters { starter.promise.fulfill(.failure(failure)) }
        starters.removeAll()
    }

    /// Gives up all that waits, when the client ends.
    func end() {
        for starter in starters { starter.promise.fulfill(.failure(.shutDown)) }
        for request in takeQueued() + backlog + postponed.map(\.1) { request.fail(.shutDown) }
        (starters, backlog, postponed) = ([], [], [])
    }

    private func takeQueued() -> Deque<Request> {
        defer { (reads, searches) = ([], []) }
        return reads + searches + changes.removeAll()
    }
}
