import Limits
import Synchronization

/// Tracks running writes that an observer isn't notified of because nobody follows their classes. A new follower waits
/// for them to finish, so that its first find includes their changes.
public final class PendingWrites: Sendable {
    private struct State {
        var epoch = 0
        /// The number of running writes by the epoch in which they began.
        var counts: [Int: Int] = [:]
        /// Followers waiting for all writes that began before an epoch.
        var waiters: [(epoch: Int, continuation: AsyncStream<Never>.Continuation)] = []
        /// The epoch before which followers no longer wait for writes.
        var abandoned = 0
    }

    private let state = Mutex(State())

    public init() {}

    /// Records the start of a write.
    ///
    /// - Returns: The epoch to pass to ``end(_:)``.
    public func begin() -> Int {
        state.withLock { state in
            state.counts[state.epoch, default: 0] += 1
            return state.epoch
        }
    }

    /// Records the end of a write.
    ///
    /// - Returns: Whether a follower stopped waiting for the write and so misses its change.
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

    /// Waits until all running writes have finished or the time limit is reached.
    public func settle(within limit: Duration = .seconds(1)) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
        let epoch = state.withLock { state -> Int? in
            guard !state.counts.isEmpty else { return nil }
            state.epoch += 1
            state.waiters.append((state.epoch, continuation))
            return state.epoch
        }
        guard let epoch else { return }
        let isSettled = await withTimeLimit(limit) {
            for await _ in stream {}
            return !Task.isCancelled
        }
        if isSettled != true { state.withLock { $0.abandoned = max($0.abandoned, epoch) } }
    }
}
