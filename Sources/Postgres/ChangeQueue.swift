import Collections

/// Requests of many callers that change one row each, and wait to be sent together.
///
/// Together they are one transaction: one packet, one commit, and one wait for the disk.
struct ChangeQueue {
    /// How many go together at most: the first ones are answered when all are done.
    private static let mostMembers = 32

    /// How long those who go together wait for a lock, that is a row which a transaction of several requests has changed,
    /// or a table that is being altered. Whoever waits holds up the others, and perhaps those who hold the lock. Much less
    /// than the time after which PostgreSQL looks for deadlocks.
    static let lockTimeout = EncodedStatement(constant: "SELECT set_config('lock_timeout', '20ms', true)")

    private var requests: Deque<Request> = []

    var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    mutating func append(_ request: Request) { requests.append(request) }

    /// Takes the requests that go next as one; nil when none is left that anybody waits for.
    ///
    /// They are in the order of their rows, so that two processes never wait for each other crosswise.
    mutating func next() -> Request? {
        let members = requests.prefix(Self.mostMembers).filter { !$0.answer.isGiven }
        requests.removeFirst(min(requests.count, Self.mostMembers))
        guard members.count > 1 else { return members.first }
        return Request(together: members.sorted { ($0.row ?? "") < ($1.row ?? "") })
    }

    /// Takes all requests.
    mutating func removeAll() -> Deque<Request> {
        defer { requests = [] }
        return requests
    }
}
