import Limits
import ServerConfiguration
import Synchronization

/// Counts log-in attempts under names without an account, per process.
package final class UnknownAccounts: Sendable {
    private struct Count {
        var attempts = 0
        var lockEnd: ContinuousClock.Instant?
    }

    /// Keyed by a seeded hash, so long names take no additional memory.
    private let counts: Mutex<BoundedTable<Int, Count>>
    private let capacity: Int

    /// - Parameter capacity: The maximum number of names. Beyond it, all unlocked names are evicted, then the least
    ///   recently tried.
    package init(capacity: Int = 10_000) {
        self.capacity = capacity
        counts = Mutex(BoundedTable(capacity: capacity))
    }

    /// Counts an attempt. The attempt that reaches the threshold locks the name.
    ///
    /// - Parameter name: The user name and address, in lower case if log-ins ignore case.
    /// - Returns: The remaining lock time, or nil if the name wasn't locked before this attempt.
    package func reserveAttempt(
        _ name: [String], _ policy: Configuration.AccountLockout,
        at now: ContinuousClock.Instant = .now
    ) -> Duration? {
        var hasher = Hasher()
        for text in name {
            for byte in text.utf8 { hasher.combine(byte) }
            hasher.combine(0xFF as UInt8)
        }
        let key = hasher.finalize()
        return counts.withLock { counts in
            var count = counts.value(of: key) ?? Count()
            if let end = count.lockEnd {
                if end > now { return end - now }
                count = Count()
            }
            if counts.peek(key) == nil, counts.count >= capacity {
                counts.removeAll { _, count in count.lockEnd.map { $0 <= now } ?? true }
            }
            count.attempts += 1
            if count.attempts >= policy.threshold { count.lockEnd = now + .seconds(policy.duration * 60) }
            counts.set(count, for: key)
            return nil
        }
    }

    package var size: Int { counts.withLock { $0.count } }
}
