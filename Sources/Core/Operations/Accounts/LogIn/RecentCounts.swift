import JSON
import Limits
import Synchronization

/// Limits costly actions per key within a time window, such as text messages to a number or emails to a user. Counts
/// are kept per process.
package final class RecentCounts: Sendable {
    private struct Count {
        var times = 0
        var end: ContinuousClock.Instant
    }

    private let counts = Mutex(BoundedTable<Name, Count>(capacity: 10_000))
    private let window: Duration

    /// - Parameter window: The duration of a count from its first action.
    package init(within window: Duration) { self.window = window }

    /// Counts an action, or returns false if the limit has been reached.
    ///
    /// - Parameters:
    ///   - key: The user or other subject of the limit.
    ///   - limit: The maximum number of actions within the window.
    package func countOneMore(_ key: Name, limit: Int) -> Bool {
        let now = ContinuousClock.now
        return counts.withLock { counts in
            var count = counts.value(of: key) ?? Count(end: now + window)
            if count.end <= now { count = Count(end: now + window) }
            guard count.times < limit else { return false }
            count.times += 1
            counts.set(count, for: key)
            return true
        }
    }

    /// Subtracts an action from the count of a key.
    package func countOneLess(_ key: Name) {
        counts.withLock { counts in
            guard var count = counts.value(of: key), count.times > 0 else { return }
            count.times -= 1
            counts.set(count, for: key)
        }
    }
}
