import Encoding
import ParseStorage
import ServerConfiguration
import Synchronization
import Tasks

package struct RequestDemand: Sendable {
    let limit: Int
    /// Who sent them; empty for everybody.
    let sender: [UInt8]
    var amount: Int

    package init(limit: Int, sender: [UInt8], amount: Int) {
        self.limit = limit
        self.sender = sender
        self.amount = amount
    }
}

package struct RequestCount: Sendable {
    /// How many requests there were since the count began, those just counted included.
    package let requests: Int
    /// In how many milliseconds the count begins anew.
    package let remaining: Int
}

/// Keeps how many requests there were.
protocol RequestCounter: Sendable {
    /// Counts requests.
    ///
    /// - Parameter demands: No two of one limit and sender.
    /// - Returns: A count for each.
    func take(_ demands: [RequestDemand]) async throws -> [RequestCount]
}

/// Counts in the memory of this process.
///
/// A client with many addresses could make any number of counts. There are at most so many: beyond those, the smallest
/// are forgotten, half of all. Who sent few requests has nothing to lose by that, and who sent many is not forgotten
/// for others that sent one each.
package final class MemoryCounter: RequestCounter {
    private struct Key: Hashable {
        let limit: Int
        let sender: [UInt8]
    }

    private struct Count {
        var requests: Int
        var end: ContinuousClock.Instant
    }

    /// In milliseconds, for each limit.
    private let windows: [Int]
    private let capacity: Int
    private let counts = Mutex<[Key: Count]>([:])

    /// - Parameters:
    ///   - windows: How long counts last, in milliseconds, for each limit.
    ///   - capacity: How many counts there are at most.
    package init(windows: [Int], capacity: Int = 100_000) {
        self.windows = windows
        self.capacity = max(2, capacity)
    }

    package func take(_ demands: [RequestDemand]) -> [RequestCount] {
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

    /// Drops expired counts, then the smallest, until half of the slots are free. It runs again only when that half is
    /// used up, whatever clients send.
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

/// Counts in PostgreSQL, for all processes over the database.
///
/// A caller that has gone beyond a limit is refused until the count is over without asking the database again: a flood
/// of requests costs it nothing.
final class DatabaseCounter: RequestCounter {
    private let store: ObjectStore
    private let limits: [RateLimit]
    private let prefixes: [String]
    /// Until when a key is over its limit.
    private let exhausted = Mutex(BoundedTable<String, ContinuousClock.Instant>(capacity: 10_000))

    init(limits: [RateLimit], store: ObjectStore) {
        self.store = store
        self.limits = limits
        var occurrences: [String: Int] = [:]
        // Limits that say the same count each for itself.
        prefixes = limits.map { limit in
            occurrences[limit.identity, default: 0] += 1
            return "\(limit.identity) \(occurrences[limit.identity] ?? 1) "
        }
    }

    func take(_ demands: [RequestDemand]) async throws -> [RequestCount] {
        let keys = demands.map { demand in
            let sender = demand.sender.hexadecimal
            return prefixes[demand.limit] + sender
        }
        if let counts = refusals(of: keys, demands) { return counts }
        let counts = try await store.requests.countAll(
            zip(demands, keys).map { demand, key in
                CountedRequests(key: key, amount: demand.amount, window: limits[demand.limit].window)
            })
        for ((demand, key), count) in zip(zip(demands, keys), counts)
        where count.requests > limits[demand.limit].count {
            remember(key, for: count.remaining)
        }
        return counts.map { RequestCount(requests: $0.requests, remaining: $0.remaining) }
    }

    /// The answer without a database query if one of the keys is known to be over its limit.
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
