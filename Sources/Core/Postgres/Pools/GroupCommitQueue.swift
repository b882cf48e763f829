import DequeModule
import Limits

/// Single-row changes of many callers, waiting to be sent together.
///
/// Each group is one transaction, with one commit and one disk flush.
package struct GroupCommitQueue {
    /// The maximum number of members in a group. Limited because the first ones wait for the last.
    private static let maxMembers = 32

    private var requests: Deque<Request> = []

    package init() {}

    var count: Int { requests.count }
    package var isEmpty: Bool { requests.isEmpty }

    package mutating func append(_ request: Request) { requests.append(request) }

    /// Puts changes back at the front of the queue after another change of their group caused a rollback.
    package mutating func putBack(_ undone: [Request]) { requests.prepend(contentsOf: undone) }

    /// Dequeues the next group as one request, or returns nil if no caller waits for any member.
    ///
    /// The members are sorted by conflict key, so that the groups of two processes never deadlock.
    package mutating func next() -> Request? {
        let members = requests.prefix(Self.maxMembers).filter { !$0.promise.isFulfilled }
        requests.removeFirst(min(requests.count, Self.maxMembers))
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

/// Keys recorded within the last second.
package struct RecentEntries<Key: Hashable> {
    private var instants = BoundedTable<Key, MonotonicInstant>(capacity: 4096)

    package init() {}

    package mutating func record(_ key: Key?, at now: MonotonicInstant) {
        guard let key else { return }
        instants.set(now, for: key)
    }

    /// Whether the key was recorded within the last second.
    package mutating func include(_ key: Key?, at now: MonotonicInstant) -> Bool {
        guard instants.count > 0, let key, let instant = instants.peek(key) else { return false }
        guard instant.isOlder(than: 1000, at: now) else { return true }
        instants.remove(key)
        return false
    }
}
