import Collections

/// Requests of many callers that change one row each, and wait to be sent together.
///
/// Together they are one transaction: one packet, one commit, and one wait for the disk.
struct GroupCommitQueue {
    /// How many go together at most: the first ones are answered when all are done.
    private static let mostMembers = 32

    private var requests: Deque<Request> = []

    var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    mutating func append(_ request: Request) { requests.append(request) }

    /// Puts requests back that were undone for the sake of another, before all that came meanwhile.
    mutating func putBack(_ undone: [Request]) { requests.prepend(contentsOf: undone) }

    /// Takes the requests that go next as one; nil when no caller waits for any of them.
    ///
    /// They are in the order of their conflict keys, so that two processes never wait for each other crosswise.
    mutating func next() -> Request? {
        let members = requests.prefix(Self.mostMembers).filter { !$0.promise.isFulfilled }
        requests.removeFirst(min(requests.count, Self.mostMembers))
        guard members.count > 1 else { return members.first }
        return Request(together: members.sorted { Self.isBefore($0.conflictKey, $1.conflictKey) })
    }

    private static func isBefore(_ one: ConflictKey?, _ other: ConflictKey?) -> Bool {
        guard let other else { return false }
        return one.map { $0 < other } ?? true
    }

    /// Takes all requests.
    mutating func removeAll() -> Deque<Request> {
        defer { requests = [] }
        return requests
    }
}
