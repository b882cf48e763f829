import DequeModule
import Tasks

/// Requests of many callers that change one row each, and wait to be sent together.
///
/// Together they are one transaction: one packet, one commit, and one wait for the disk.
package struct GroupCommitQueue {
    /// Bounded because the first members wait for the last.
    private static let mostMembers = 32

    private var requests: Deque<Request> = []

    package init() {}

    var count: Int { requests.count }
    package var isEmpty: Bool { requests.isEmpty }

    package mutating func append(_ request: Request) { requests.append(request) }

    /// Puts requests back that were undone for the sake of another, before all that came meanwhile.
    package mutating func putBack(_ undone: [Request]) { requests.prepend(contentsOf: undone) }

    /// Takes the requests that go next as one; nil when no caller waits for any of them.
    ///
    /// They are in the order of their conflict keys, so that two processes never wait for each other crosswise.
    package mutating func next() -> Request? {
        let members = requests.prefix(Self.mostMembers).filter { !$0.promise.isFulfilled }
        requests.removeFirst(min(requests.count, Self.mostMembers))
        guard members.count > 1 else { return members.first }
        return Request(together: members.sorted { Self.isBefore($0.conflictKey, $1.conflictKey) })
    }

    private static func isBefore(_ one: ConflictKey?, _ other: ConflictKey?) -> Bool {
        guard let other else { return false }
        return one.map { $0 < other } ?? true
    }

    mutating func removeAll() -> Deque<Request> {
        defer { requests = [] }
        return requests
    }
}

/// What was noted lately, and counts for a while.
package struct RecentEntries<Key: Hashable> {
    /// How long an entry counts, in milliseconds.
    private let memory: Int64
    private var instants = BoundedTable<Key, MonotonicInstant>(capacity: 4096)

    package init(memory: Int64) { self.memory = memory }

    /// Records an entry at `now`.
    package mutating func note(_ key: Key?, at now: MonotonicInstant) {
        guard let key else { return }
        instants.set(now, for: key)
    }

    /// Whether an entry was noted lately.
    package mutating func include(_ key: Key?, at now: MonotonicInstant) -> Bool {
        guard instants.count > 0, let key, let instant = instants.peek(key) else { return false }
        guard instant.isOlder(than: memory, at: now) else { return true }
        instants.remove(key)
        return false
    }
}
