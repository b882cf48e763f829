#if os(Linux)
    import CScheduling
#endif

/// Whether a thread that wakes up lets others finish before it takes a processor from them.
///
/// PostgreSQL sends what is larger than 8 KB in pieces. Each wakes the thread that waits for it, and Linux lets whoever
/// wakes up interrupt others, here the process of PostgreSQL in the middle of the answer. A thread that lets it finish
/// (`SCHED_BATCH`, see sched(7)) finds all that there is.
struct Courtesy {
    private var isPolite = false

    /// Has this thread let others finish, or not. The system may refuse: then it stays as it is.
    mutating func set(_ isPolite: Bool) {
        guard isPolite != self.isPolite else { return }
        self.isPolite = isPolite
        #if os(Linux)
            _ = wait_for_others(isPolite ? 1 : 0)
        #endif
    }
}
