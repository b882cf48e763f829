import Synchronization
import Tasks

/// The processes that take calls.
final class WorkerPool: Sendable {
    private struct State {
        var workers: [NodeWorker] = []
        var hasGivenUp = false
        var changed = OneTime<Void>()
    }

    /// What became of a process that was to be put to work.
    enum Placement: Sendable {
        /// It takes calls, in the place of another where it was given that of one.
        case taken(from: NodeWorker?)
        case full
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// - Parameter capacity: The most processes.
    init(capacity: Int) { self.capacity = capacity }

    var workers: [NodeWorker] { state.withLock { $0.workers } }

    /// Whether a process is missing.
    var hasFreePlace: Bool { state.withLock { $0.workers.count < capacity } }

    /// Puts a process to work, where there is a place for it.
    ///
    /// What replaces a process that died, and what loads the file anew, go on side by side: the place is looked for and
    /// taken in one step, so that no other task takes it in between.
    ///
    /// - Parameter moment: A process whose start began before it gives up its place; nil where only a free one is
    ///   taken.
    func place(_ worker: NodeWorker, inPlaceOfThoseBefore moment: ContinuousClock.Instant? = nil) -> Placement {
        change { state in
            let index = moment.flatMap { moment in state.workers.firstIndex { $0.startBegan < moment } }
            guard index != nil || state.workers.count < capacity else { return .full }
            let old = index.map { state.workers.remove(at: $0) }
            state.workers.append(worker)
            state.hasGivenUp = false
            return .taken(from: old)
        }
    }

    /// Takes a process out.
    func remove(_ worker: NodeWorker) { change { state in state.workers.removeAll { $0 === worker } } }

    /// Whether all processes run, some do, or none will.
    var condition: String {
        state.withLock { $0.workers.count >= capacity ? "ready" : $0.hasGivenUp ? "down" : "starting" }
    }

    /// Says that no process will come.
    func giveUp() { change { $0.hasGivenUp = true } }

    private func change<Outcome: Sendable>(_ body: (inout State) -> Outcome) -> Outcome {
        let (outcome, changed) = state.withLock { state in
            let outcome = body(&state)
            defer { state.changed = OneTime() }
            return (outcome, state.changed)
        }
        changed.set(())
        return outcome
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

/// How often processes died at one place: how long to wait before the next one. A place is never given up.
package struct CrashHistory {
    private var inRow = 0

    package init() {}

    /// A process that has served so long did not die of its start.
    static let span = Duration.seconds(60)

    /// Notes that a process died.
    ///
    /// - Parameters:
    ///   - lifetime: How long it had served.
    ///   - backOff: How long to wait, by how many died one after another; the last holds for all that follow.
    /// - Returns: How long to wait before the next one.
    package mutating func note(after lifetime: Duration, backOff: [Duration]) -> Duration {
        if lifetime > Self.span { inRow = 0 }
        inRow = min(inRow + 1, max(backOff.count, 1))
        return backOff.isEmpty ? .zero : backOff[inRow - 1]
    }
}
