import Synchronization

/// The writes under way of which an observer is not to know, as no subscriber follows their classes. A subscriber that
/// begins to follow one waits for those that have begun: what it finds afterwards has their changes.
public final class PendingWrites: Sendable {
    private struct State {
        var epoch = 0
        /// How many are under way, by the epoch in which they began.
        var counts: [Int: Int] = [:]
        /// Those that wait for all writes that began before an epoch.
        var waiters: [(epoch: Int, continuation: AsyncStream<Never>.Continuation)] = []
        /// Writes that began before it are waited for no more.
        var abandoned = 0
    }

    private let state = Mutex(State())

    /// There are none.
    public init() {}

    /// Notes that one begins.
    ///
    /// - Returns: What ``end(_:)`` is given when it is over.
    public func begin() -> Int {
        state.withLock { state in
            state.counts[state.epoch, default: 0] += 1
            return state.epoch
        }
    }

    /// Notes that one is over.
    ///
    /// - Returns: Whether a follower has waited for it in vain, and misses the change.
    public func end(_ epoch: Int) -> Bool {
        let (finished, isMissed) = state.withLock { state in
            state.counts[epoch, default: 1] -= 1
            if state.counts[epoch] == 0 { state.counts[epoch] = nil }
            let oldest = state.counts.keys.min() ?? .max
            let finished = state.waiters.filter { $0.epoch <= oldest }.map(\.continuation)
            state.waiters.removeAll { $0.epoch <= oldest }
            return (finished, epoch < state.abandoned)
        }
        for continuation in finished { continuation.finish() }
        return isMissed
    }

    /// Waits for all that are under way now, for a limited time.
    public func settle(within limit: Duration = .seconds(1)) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let epoch = state.withLock { state -> Int? in
            guard !state.counts.isEmpty else { return nil }
            state.epoch += 1
            state.waiters.append((state.epoch, continuation))
            return state.epoch
        }
        guard let epoch else { return }
        let isSettled = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in stream {}
                return !Task.isCancelled
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
        if !isSettled { state.withLock { $0.abandoned = max($0.abandoned, epoch) } }
    }
}
