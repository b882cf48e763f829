import DequeModule
import Limits

/// Connections that are opened on demand, each lent to one caller at a time.
package final class ExclusivePool: ConnectionPool {
    package let context: LoopContext
    package private(set) var connections: [Connection] = []
    /// Idle connections with the start of their idle time, most recently used last.
    private var idle: [(connection: Connection, since: MonotonicInstant)] = []
    package var idleConnections: Int { idle.count }
    package private(set) var timeouts = 0
    /// Connections to close: they hold large libpq buffers, or their server has become read-only.
    private var retired: [Connection] = []
    private(set) var leases: [Lease] = []
    private var queue = LeaseQueue()
    private var order = LeaseOrder()
    private var backOff = BackOff()
    private var nextOpening = MonotonicInstant.now
    private var lastFailure: PostgresError?

    private let limit: Int
    /// Maximum connections per sender, except the server itself.
    private let share: Int
    private let waitLimit: Duration
    private let parameters: ConnectionParameters
    let keepsWrites: Bool
    private let stopsHeaviest: Bool

    private static let idleTimeout: Int64 = 60_000

    package init(_ context: LoopContext, purpose: PoolPurpose) {
        self.context = context
        limit = context.configuration.limit(of: purpose)
        share = context.configuration.share(of: purpose)
        waitLimit = context.configuration.waitLimit(of: purpose)
        parameters = context.configuration.parameters(of: purpose)
        keepsWrites = purpose.keepsWrites
        stopsHeaviest = purpose.stopsHeaviest
    }

    package var waiting: Int {
        leases.reduce(queue.count) { $0 + $1.pending.count }
    }

    /// Whether no connection is lent and no request waits.
    package var isIdle: Bool { leases.isEmpty && queue.isEmpty }

    package var isUnused: Bool { connections.isEmpty && queue.arrivals.isEmpty && isIdle }

    package var nextDeadline: MonotonicInstant? {
        var earliest = EarliestInstant()
        for connection in connections { earliest.consider(connection.deadline) }
        for lease in leases {
            earliest.consider(lease.cancelAgain)
            if !lease.isExpired, !lease.isReleased { earliest.consider(lease.request.end) }
        }
        if let oldest = idle.first { earliest.consider(oldest.since.after(.milliseconds(Self.idleTimeout + 1))) }
        earliest.consider(queue.arrivals.first?.deadline)
        if mayStop { earliest.consider(order.nextLook) }
        if mayOpen { earliest.consider(nextOpening) }
        return earliest.instant
    }

    // MARK: Lending

    /// Lends a connection as soon as one is available.
    package func lease(_ request: LeaseRequest) {
        guard !request.promise.isFulfilled else { return }
        if context.isStopping { return giveUp(request) }
        request.arrival = context.now
        request.deadline = context.now.after(waitLimit)
        guard queue.append(request) else { return }
        lendIdle()
        openWhereUseful()
        // The server has just refused a connection and would refuse the next one.
        if lastFailure != nil, nextOpening > context.now { failRefused() }
    }

    /// Fails waiting requests if the server rejects connections and the caller has another server to try.
    private func failRefused() {
        guard context.configuration.failsWhenRefused else { return }
        while let request = queue.arrivals.popFirst() {
            if queue.withdraw(request) { giveUp(request) }
        }
    }

    private func lendIdle() {
        while queue.unblocked > 0, let entry = idle.popLast() {
            if entry.connection.isReady, entry.connection.isOutdated {
                retired.append(entry.connection)
                continue
            }
            guard !entry.connection.isReady || lend(entry.connection) else { return idle.append(entry) }
        }
    }

    private func offer(_ connection: Connection) {
        guard !connection.isSwollen, !connection.isOutdated else { return retired.append(connection) }
        connection.deallocateDropped()
        if !lend(connection) { idle.append((connection, context.now)) }
    }

    private func lend(_ connection: Connection) -> Bool {
        let rank = { self.order.time(of: $0, among: self.leases, at: self.context.now) }
        while let waiter = queue.next(by: rank, where: mayLend) {
            let lease = Lease(in: self, connection, for: waiter, at: context.now)
            leases.append(lease)
            order.begin(lease)
            if waiter.promise.fulfill(.success(lease)) { return true }
            leases.removeLast()
            queue.leave(waiter.conflictKey)
        }
        return false
    }

    private func mayLend(to sender: Sender) -> Bool {
        share == limit || sender == .server || leases.count { $0.request.sender == sender } < share
    }

    private var mayStop: Bool {
        stopsHeaviest && queue.unblocked > 0 && leases.count { !$0.isBrokenOff } >= limit
    }

    private func stopHeaviest() {
        guard mayStop else { return }
        let lease = order.leaseToStop(among: leases, for: queue.arrivals, at: context.now, mayLend: mayLend)
        if let lease { expire(lease) }
    }

    /// Removes a request whose caller no longer waits.
    package func abandon(_ request: LeaseRequest) { _ = queue.withdraw(request) }

    private var mayOpen: Bool {
        connections.count < limit && !context.isStopping
            && connections.count(where: { !$0.isReady }) < queue.unblocked
    }

    private func openWhereUseful() {
        while mayOpen, nextOpening <= context.now {
            let connection = Connection(context, pool: self, parameters)
            connections.append(connection)
            connection.open()
            if connection.failure != nil { break }
        }
    }

    // MARK: Returning

    /// Ends a lease. The connection is lent again once it is clean.
    package func release(_ lease: Lease, _ request: WaitRequest?) {
        guard !lease.isReleased else {
            request?.promise.fulfill(.success(()))
            return
        }
        lease.isReleased = true
        lease.releaseRequest = request
        proceed(lease)
    }

    func proceed(_ lease: Lease) {
        let connection = lease.connection
        if lease.isBrokenOff {
            if lease.isReleased { end(lease) }
            return
        }
        guard lease.failure == nil, connection.failure == nil else {
            if lease.failure != nil, lease.isReleased { end(lease) }
            return
        }
        if !lease.isCancelling, connection.inFlight.first?.isCancelled == true, lease.cancelAgain == nil {
            cancelHead(lease)
        }
        pump(lease)
        guard lease.isReleased || lease.isExpired, connection.inFlight.isEmpty, lease.pending.isEmpty,
            !lease.isCancelling
        else { return }
        if connection.isInTransaction {
            if lease.isRollingBack { return connection.fail(lost(nil)) }
            lease.isRollingBack = true
            if !connection.send(Request(.statements([Self.rollback]))) { connection.fail(lost(nil)) }
            return
        }
        if lease.isReleased {
            end(lease)
        } else {
            settle(lease)
            lease.isBrokenOff = true
        }
        offer(connection)
    }

    private func settle(_ lease: Lease) {
        order.end(lease, at: context.now)
        queue.leave(lease.request.conflictKey)
    }

    private func end(_ lease: Lease) {
        lease.isOver = true
        leases.removeAll { $0 === lease }
        if !lease.isBrokenOff { settle(lease) }
        lease.releaseRequest?.promise.fulfill(.success(()))
    }

    // MARK: Connections

    package func didConnect(_ connection: Connection) {
        backOff = BackOff()
        lastFailure = nil
        offer(connection)
    }

    package func didBreak(_ connection: Connection, losing requests: [Request], because reason: PostgresError) {
        connections.removeAll { $0 === connection }
        idle.removeAll { $0.connection === connection }
        let error = lost(reason)
        for request in requests { request.fail(error) }
        if let lease = lease(of: connection) {
            lease.failure = error
            for request in lease.pending { request.fail(error) }
            lease.pending.removeAll()
            lease.cancelAgain = nil
            proceed(lease)
        } else if reason.kind == .unavailable {
            if lastFailure == nil, !context.isStopping {
                context.logger.warning(
                    "could not open an exclusive connection to PostgreSQL", metadata: ["reason": "\(reason)"])
            }
            lastFailure = reason
            nextOpening = context.now.after(backOff.next())
            failRefused()
        }
    }

    package func tick() {
        for connection in connections { connection.checkDeadline() }
        for lease in leases where lease.cancelAgain.map({ $0 <= context.now }) ?? false { cancelHead(lease) }
        for lease in leases where !lease.isExpired && !lease.isReleased {
            if let end = lease.request.end, end <= context.now { expire(lease) }
        }
        while let first = queue.arrivals.first, hasWaitedEnough(first) {
            queue.arrivals.removeFirst()
            guard queue.withdraw(first) else { continue }
            if !context.isStopping, !first.promise.isFulfilled { timeouts += 1 }
            giveUp(first)
        }
        stopHeaviest()
        lendIdle()
        for connection in retired where connection.failure == nil {
            connections.removeAll { $0 === connection }
            connection.close()
        }
        retired.removeAll()
        while let oldest = idle.first, oldest.since.isOlder(than: Self.idleTimeout, at: context.now) {
            idle.removeFirst()
            connections.removeAll { $0 === oldest.connection }
            oldest.connection.close()
        }
        openWhereUseful()
    }

    private func hasWaitedEnough(_ request: LeaseRequest) -> Bool {
        request.promise.isFulfilled || context.isStopping || request.deadline.map { $0 <= context.now } ?? false
    }

    private func giveUp(_ request: LeaseRequest) {
        let busy = PostgresError(.busy, "no connection became free in time")
        request.promise.fulfill(.failure(context.isStopping ? .shutDown : lastFailure ?? busy))
    }

    /// Fails everything that waits, when the client shuts down.
    func end() {
        for waiter in queue.arrivals { waiter.promise.fulfill(.failure(.shutDown)) }
        queue = LeaseQueue()
        for lease in leases {
            for request in lease.pending { request.fail(.shutDown) }
            lease.releaseRequest?.promise.fulfill(.success(()))
        }
        leases.removeAll()
    }

    private static let rollback = EncodedStatement(constant: "ROLLBACK")
}
