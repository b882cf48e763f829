import Tasks

/// What was noted lately, and counts for a while.
struct RecentEntries<Key: Hashable> {
    /// How long an entry counts, in milliseconds.
    private let memory: Int64
    private var instants = BoundedTable<Key, MonotonicInstant>(capacity: 4096)

    init(memory: Int64) { self.memory = memory }

    /// Notes an entry, from now on.
    mutating func note(_ key: Key?, at now: MonotonicInstant) {
        guard let key else { return }
        instants.set(now, for: key)
    }

    /// Whether an entry was noted lately.
    mutating func include(_ key: Key?, at now: MonotonicInstant) -> Bool {
        guard instants.count > 0, let key, let instant = instants.peek(key) else { return false }
        guard instant.isOlder(than: memory, at: now) else { return true }
        instants.remove(key)
        return false
    }
}
