import Encoding
import Limits
import ParseStorage
import ServerConfiguration
import Synchronization

package struct RequestDemand: Sendable {
    let limit: Int
    /// The key of the sender, or empty for a global limit.
    let sender: [UInt8]
    var amount: Int

    package init(limit: Int, sender: [UInt8], amount: Int) {
        self.limit = limit
        self.sender = sender
        self.amount = amount
    }
}

package struct RequestCount: Sendable {
    /// The number of requests in the current window, including those just counted.
    package let requests: Int
    /// The number of milliseconds until the window ends.
    package let remaining: Int
}

/// Counts requests per limit and sender.
protocol RequestCounter: Sendable {
    /// Adds requests to the counts.
    ///
    /// - Parameter demands: At most one per limit and sender.
    /// - Returns: One count per demand, in order.
    func count(_ demands: [RequestDemand]) async throws -> [RequestCount]
}

/// Counts requests in the memory of this process.
///
/// Limits the number of counts, because a client with many addresses could create any number of them. At capacity, it
/// drops expired counts and then the smallest ones until half of the capacity is free, so a sender of many requests
/// can't reset its count by using many new addresses.
package final class MemoryCounter: RequestCounter {
    private struct Key: Hashable {
        let limit: Int
        let sender: [UInt8]
    }

    private struct Count {
        var requests: Int
        var end: ContinuousClock.Instant
    }

    private let windows: [Int]
    private let capacity: Int
    private let counts = Mutex<[Key: Count]>([:])

    /// - Parameters:
    ///   - windows: The window of each limit, in milliseconds.
    ///   - capacity: The maximum number of counts.
    package init(windows: [Int], capacity: Int = 100_000) {
        self.windows = windows
        self.capacity = max(2, capacity)
    }

    package func count(_ demands: [RequestDemand]) -> [RequestCount] {
        let now = ContinuousClock.now
        return counts.withLock { counts in
            demands.map { demand in
                let key = Key(limit: demand.limit, sender: demand.sender)
                var count = counts[key]
                if count == nil, counts.count >= capacity { Self.makeRoom(in: &counts, below: capacity, at: now) }
                if let known = count, known.end <= now { count = nil }
                var next = count ?? Count(requests: 0, end: now + .milliseconds(windows[demand.limit]))
                next.requests += demand.amount
                counts[key] = next
                return RequestCount(
                    requests: next.requests, remaining: Int((next.end - now) / .milliseconds(1)))
            }
        }
    }

    package var size: Int { counts.withLock { $0.count } }

    /// Drops expired counts, then the smallest ones, until half of the capacity is free, so that the next call isn't
    /// needed soon.
    private static func makeRoom(in counts: inout [Key: Count], below capacity: Int, at now: ContinuousClock.Instant) {
        counts = counts.filter { $0.value.end > now }
        var smallest = 1
        while counts.count > capacity / 2 {
            var excess = counts.count - capacity / 2
            counts = counts.filter { entry in
                guard excess > 0, entry.value.requests <= smallest else { return true }
                excess -= 1
                return false
            }
            smallest *= 2
        }
    }
}

/// Counts requests in PostgreSQL for all processes of the database.
///
/// Once a sender exceeds its limit, it is rejected without further queries until the window ends, so a flood of
/// requests doesn't reach the database. Remembers up to 10,000 such senders.
final class DatabaseCounter: RequestCounter {
    private let store: ObjectStore
    private let limits: [RateLimit]
    private let prefixes: [String]
    private let exhausted = Mutex(BoundedTable<String, ContinuousClock.Instant>(capacity: 10_000))

    init(limits: [RateLimit], store: ObjectStore) {
        self.store = store
        self.limits = limits
        var occurrences: [String: Int] = [:]
        // Limits with equal settings are counted separately.
        prefixes = limits.map { limit in
            occurrences[limit.identity, default: 0] += 1
            return "\(limit.identity) \(occurrences[limit.identity] ?? 1) "
        }
    }

    func count(_ demands: [RequestDemand]) async throws -> [RequestCount] {
        let keys = demands.map { demand in
            let sender = demand.sender.hexadecimal
            return prefixes[demand.limit] + sender
        }
        if let counts = refusals(of: keys, demands) { return counts }
        let counts = try await store.requests.countAll(
            zip(demands, keys).map { demand, key in
                (key: key, amount: demand.amount, window: limits[demand.limit].window)
            })
        for ((demand, key), count) in zip(zip(demands, keys), counts)
        where count.requests > limits[demand.limit].count {
            remember(key, for: count.remaining)
        }
        return counts.map { RequestCount(requests: $0.requests, remaining: $0.remaining) }
    }

    /// Returns counts without a query if a key is known to be over its limit, with 0 for the other keys. Otherwise
    /// returns nil.
    private func refusals(of keys: [String], _ demands: [RequestDemand]) -> [RequestCount]? {
        let now = ContinuousClock.now
        let ends = exhausted.withLock { exhausted in keys.map { exhausted.value(of: $0) } }
        guard ends.contains(where: { $0.map { $0 > now } ?? false }) else { return nil }
        return zip(demands, ends).map { demand, end in
            guard let end, end > now else { return RequestCount(requests: 0, remaining: 0) }
            return RequestCount(
                requests: limits[demand.limit].count + 1, remaining: Int((end - now) / .milliseconds(1)))
        }
    }

    private func remember(_ key: String, for milliseconds: Int) {
        _ = exhausted.withLock { $0.set(.now + .milliseconds(milliseconds), for: key) }
    }
}
