import ServerConfiguration
import Synchronization
import Tasks

/// Attempts to log in under names without an account, counted in the memory of this process.
package final class UnknownAccounts: Sendable {
    private struct Count {
        var attempts = 0
        var lockEnd: ContinuousClock.Instant?
    }

    /// Keyed by a hash that no client can choose, so that long names take no more memory.
    private let counts: Mutex<BoundedTable<Int, Count>>
    private let capacity: Int

    /// - Parameter capacity: How many names are counted. Beyond those, the ones that are not locked are
    ///   forgotten, and then the one that was tried longest ago.
    package init(capacity: Int = 10_000) {
        self.capacity = capacity
        counts = Mutex(BoundedTable(capacity: capacity))
    }

    /// Counts an attempt; the one that reaches the threshold locks the name.
    ///
    /// - Parameter name: What names the account, in the one spelling that all spellings of an account have.
    /// - Returns: How long the name is locked; nil when there was an attempt left.
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
