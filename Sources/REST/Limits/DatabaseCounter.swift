import Encoding
import ParseStorage
import ServerConfiguration
import Synchronization
import Tasks

/// Counts in PostgreSQL, for all processes over the database.
///
/// A caller that has gone beyond a limit is refused until the count is over without asking the database again: a flood
/// of requests costs it nothing.
final class DatabaseCounter: RequestCounter {
    private let store: ObjectStore
    private let limits: [RateLimit]
    /// What the keys of each limit begin with.
    private let prefixes: [String]
    /// Until when a key is beyond its limit.
    private let exhausted = Mutex(BoundedTable<String, ContinuousClock.Instant>(capacity: 10_000))

    init(limits: [RateLimit], store: ObjectStore) {
        self.store = store
        self.limits = limits
        var seen: [String: Int] = [:]
        // Limits that say the same count each for itself.
        prefixes = limits.map { limit in
            seen[limit.identity, default: 0] += 1
            return "\(limit.identity) \(seen[limit.identity] ?? 1) "
        }
    }

    func take(_ demands: [RequestDemand]) async throws -> [RequestCount] {
        let keys = demands.map { demand in
            let sender = demand.sender.hexadecimal
            return prefixes[demand.limit] + sender
        }
        if let counts = refusals(of: keys, demands) { return counts }
        let counts = try await store.countRequests(
            zip(demands, keys).map { demand, key in
                CountedRequests(key: key, amount: demand.amount, window: limits[demand.limit].window)
            })
        for ((demand, key), count) in zip(zip(demands, keys), counts)
        where count.requests > limits[demand.limit].count {
            remember(key, for: count.remaining)
        }
        return counts.map { RequestCount(requests: $0.requests, remaining: $0.remaining) }
    }

    /// What is answered without the database, when one of the keys is known to be beyond its limit.
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
