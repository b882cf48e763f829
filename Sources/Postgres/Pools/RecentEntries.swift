/// What was noted lately, and counts for a while.
struct RecentEntries<Key: Hashable> {
    /// How long an entry counts, in milliseconds.
    private let memory: Int64
    private var instants: [Key: MonotonicInstant] = [:]

    /// How many entries are kept at most; beyond that all are forgotten, and learned anew.
    private static var capacity: Int { 4096 }

    init(memory: Int64) { self.memory = memory }

    /// Notes an entry, from now on.
    mutating func note(_ key: Key?, at now: MonotonicInstant) {
        guard let key else { return }
        if instants.count >= Self.capacity { instants.removeAll() }
        instants[key] = now
    }

    /// Whether an entry was noted lately.
    mutating func include(_ key: Key?, at now: MonotonicInstant) -> Bool {
        guard !instants.isEmpty, let key, let instant = instants[key] else { return false }
        guard instant.isOlder(than: memory, at: now) else { return true }
        instants[key] = nil
        return false
    }
}
