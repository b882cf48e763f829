/// What was noted lately, and counts for a while.
struct RecentEntries<Key: Hashable> {
    /// How long an entry counts, in milliseconds.
    private let memory: Int64
    private var moments: [Key: Moment] = [:]

    /// How many entries are kept at most; beyond that all are forgotten, and learned anew.
    private static var capacity: Int { 4096 }

    init(memory: Int64) { self.memory = memory }

    /// Notes an entry, from now on.
    mutating func note(_ key: Key?, at now: Moment) {
        guard let key else { return }
        if moments.count >= Self.capacity { moments.removeAll() }
        moments[key] = now
    }

    /// Whether an entry was noted lately.
    mutating func include(_ key: Key?, at now: Moment) -> Bool {
        guard !moments.isEmpty, let key, let moment = moments[key] else { return false }
        guard moment.isOlder(than: memory, at: now) else { return true }
        moments[key] = nil
        return false
    }
}
