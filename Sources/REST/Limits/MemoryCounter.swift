import Synchronization

/// Counts in the memory of this process.
///
/// A client with many addresses could make any number of counts. There are at most so many: beyond those, the smallest
/// are forgotten, half of all. Who sent few requests has nothing to lose by that, and who sent many is not forgotten
/// for others that sent one each.
final class MemoryCounter: RequestCounter {
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
    init(windows: [Int], capacity: Int = 100_000) {
        self.windows = windows
        self.capacity = max(2, capacity)
    }

    func take(_ demands: [RequestDemand]) -> [RequestCount] {
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

    /// How many counts there are.
    var size: Int { counts.withLock { $0.count } }

    /// Forgets counts that are over, and then the smallest, until half of the places are free. That takes as long as half
    /// of the places last, whatever is sent.
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
