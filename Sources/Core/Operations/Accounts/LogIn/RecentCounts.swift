import JSON
import Synchronization
import Tasks

/// How often something that costs was done for a user a short time ago: messages to a number, mails for a user. Counted
/// in the memory of this process.
package final class RecentCounts: Sendable {
    private struct Count {
        var times = 0
        var end: ContinuousClock.Instant
    }

    private let counts = Mutex(BoundedTable<Name, Count>(capacity: 10_000))
    private let window: Duration

    /// - Parameter window: How long a count lasts from its first time on.
    package init(within window: Duration) { self.window = window }

    /// Counts one more; false where there have been enough.
    ///
    /// - Parameters:
    ///   - key: For whom, or what.
    ///   - most: How often it may be within the window.
    package func countOneMore(_ key: Name, most: Int, at now: ContinuousClock.Instant = .now) -> Bool {
        counts.withLock { counts in
            var count = counts.value(of: key) ?? Count(end: now + window)
            if count.end <= now { count = Count(end: now + window) }
            guard count.times < most else { return false }
            count.times += 1
            counts.set(count, for: key)
            return true
        }
    }

    /// Takes one back.
    package func countOneLess(_ key: Name) {
        counts.withLock { counts in
            guard var count = counts.value(of: key), count.times > 0 else { return }
            count.times -= 1
            counts.set(count, for: key)
        }
    }

    package var size: Int { counts.withLock { $0.count } }
}
