import Limits

/// Ranks senders by how long they have recently held connections. The sender with the least time gets the next one. If
/// others wait too long, the sender with the most time loses one.
struct LeaseOrder {
    private var spent = SpentTime()
    private(set) var nextLook = MonotonicInstant.now

    /// The time that others wait before a lease of the sender with the most time is stopped.
    static let patience = Duration.seconds(1)
    /// The minimum time of a lease before it is stopped for others.
    static let shortestLease = Duration.milliseconds(250)
    private static let pause = Duration.milliseconds(50)

    /// Returns how long a sender has recently held connections, including its current ones. Zero for the server itself,
    /// which goes first.
    func time(of sender: Sender, among leases: some Collection<Lease>, at now: MonotonicInstant) -> Duration {
        guard sender != .server else { return .zero }
        return leases.reduce(spent[sender]) { time, lease in
            lease.request.sender == sender && !lease.isBrokenOff ? time + lease.begin.duration(to: now) : time
        }
    }

    mutating func begin(_ lease: Lease) { spent.admit(lease.request.sender) }

    mutating func end(_ lease: Lease, at now: MonotonicInstant) {
        spent.add(lease.begin.duration(to: now), to: lease.request.sender)
    }

    /// Returns the lease to stop: the oldest of the sender with the most time. Returns nil unless a sender with less
    /// time has waited too long.
    ///
    /// - Parameter waiting: The requests in order of arrival. Those without a ticket already have a connection, or wait
    ///   for a row.
    mutating func leaseToStop(
        among leases: some Collection<Lease>, for waiting: some Sequence<LeaseRequest>, at now: MonotonicInstant,
        mayLend: (Sender) -> Bool
    ) -> Lease? {
        guard nextLook <= now else { return nil }
        nextLook = now.after(Self.pause)
        var stopping = leases.count(where: \.isBeingStopped)
        let times = leases.filter { !$0.isReleased && !$0.isExpired && $0.failure == nil }
            .map { (lease: $0, time: time(of: $0.request.sender, among: leases, at: now)) }
        guard let longest = times.max(by: { $0.time < $1.time }) else { return nil }
        let candidates = times.filter { $0.lease.request.sender == longest.lease.request.sender }.map(\.lease)
        guard let lease = candidates.min(by: { $0.begin < $1.begin }), lease.begin.after(Self.shortestLease) <= now
        else {
            return nil
        }
        for request in waiting {
            guard let arrival = request.arrival, arrival.after(Self.patience) <= now else { return nil }
            if request.ticket != nil, !request.promise.isFulfilled, request.sender != lease.request.sender,
                mayLend(request.sender), time(of: request.sender, among: leases, at: now) < longest.time
            {
                // The oldest requests get the connections that are already being freed.
                guard stopping > 0 else { return lease }
                stopping -= 1
            }
        }
        return nil
    }
}
