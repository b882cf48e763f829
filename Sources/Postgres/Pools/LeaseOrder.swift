import Tasks

/// Orders senders by the time that they had lent connections for: the sender with the least time gets the next one, the
/// sender with the most gives one back when others have waited for long.
struct LeaseOrder {
    private var spent = SpentTime()
    /// When to look again whether others have waited for too long.
    private(set) var nextLook = MonotonicInstant.now

    /// How long others wait before what has taken the most time is stopped.
    static let patience = Duration.seconds(1)
    /// How long a connection is lent at least before it is taken back for others.
    static let shortestLease = Duration.milliseconds(250)
    private static let pause = Duration.milliseconds(50)

    /// The time that a sender had connections for, including those that it has now. Work of the server itself goes first.
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

    /// The lease to be stopped now: that of the sender that had connections for the most time, if a sender that had less
    /// has waited for long.
    ///
    /// - Parameter waiting: The requests, oldest first, some of which wait for something else.
    mutating func leaseToStop(
        among leases: some Collection<Lease>, for waiting: some Sequence<LeaseRequest>, at now: MonotonicInstant,
        mayLend: (Sender) -> Bool
    ) -> Lease? {
        guard nextLook <= now else { return nil }
        nextLook = now.after(Self.pause)
        var stopping = leases.count(where: \.isBeingStopped)
        let times = leases.filter { !$0.isReleased && !$0.isExpired && $0.failure == nil }
            .map { (lease: $0, time: time(of: $0.request.sender, among: leases, at: now)) }
        guard let most = times.max(by: { $0.time < $1.time }) else { return nil }
        let candidates = times.filter { $0.lease.request.sender == most.lease.request.sender }.map(\.lease)
        guard let lease = candidates.min(by: { $0.begin < $1.begin }), lease.begin.after(Self.shortestLease) <= now
        else {
            return nil
        }
        for request in waiting {
            guard let arrival = request.arrival, arrival.after(Self.patience) <= now else { return nil }
            if request.ticket != nil, !request.promise.isFulfilled, request.sender != lease.request.sender,
                mayLend(request.sender), time(of: request.sender, among: leases, at: now) < most.time
            {
                // The first of them get the connections that are about to be free.
                guard stopping > 0 else { return lease }
                stopping -= 1
            }
        }
        return nil
    }
}
