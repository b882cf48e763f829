import Synchronization

/// The processes that take calls.
final class WorkerPool: Sendable {
    private struct State {
        var workers: [NodeWorker] = []
        var hasGivenUp = false
        var changed = OneTime<Void>()
    }

    private let state = Mutex(State())

    /// All processes.
    var workers: [NodeWorker] { state.withLock { $0.workers } }

    /// Puts a process to work, in the place of another where there is one.
    func add(_ worker: NodeWorker, inPlaceOf old: NodeWorker? = nil) {
        change { state in
            state.workers.removeAll { $0 === old }
            state.workers.append(worker)
            state.hasGivenUp = false
        }
    }

    /// Takes a process out.
    func remove(_ worker: NodeWorker) { change { state in state.workers.removeAll { $0 === worker } } }

    /// Says that no process will come.
    func giveUp() { change { $0.hasGivenUp = true } }

    private func change(_ body: (inout State) -> Void) {
        let changed = state.withLock { state in
            body(&state)
            defer { state.changed = OneTime() }
            return state.changed
        }
        changed.set(())
    }

    /// The process with the fewest calls.
    ///
    /// - Parameter limit: How long one is waited for where there is none.
    /// - Throws: 141 when none comes; `CancellationError`.
    func worker(within limit: Duration) async throws -> NodeWorker {
        let deadline = ContinuousClock.now + limit
        while true {
            let (workers, hasGivenUp, changed) = state.withLock { ($0.workers, $0.hasGivenUp, $0.changed) }
            if let worker = workers.count > 1 ? workers.min(by: { $0.load < $1.load }) : workers.first {
                return worker
            }
            let rest = deadline - .now
            guard !hasGivenUp, rest > .zero else { throw OpenCalls.stopped }
            _ = await changed.wait(rest)
            try Task.checkCancellation()
        }
    }
}
