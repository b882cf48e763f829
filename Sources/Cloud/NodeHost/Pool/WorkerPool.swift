import Limits
import Synchronization

/// The processes that accept calls.
final class WorkerPool: Sendable {
    private struct State {
        var workers: [NodeWorker] = []
        var hasGivenUp = false
        var changed = OneTime<Void>()
    }

    /// The result of adding a process.
    enum Placement: Sendable {
        /// The process was added. `replacing` is the process that it replaces, or nil if a slot was free.
        case placed(replacing: NodeWorker?)
        case full
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    var workers: [NodeWorker] { state.withLock { $0.workers } }

    /// Whether fewer processes accept calls than configured.
    var hasFreePlace: Bool { state.withLock { $0.workers.count < capacity } }

    /// Adds a process if there is a slot for it.
    ///
    /// Restarts and reloads run concurrently, so the slot is found and taken in one step.
    ///
    /// - Parameter moment: A process whose start began before this time is replaced. If nil, only a free slot is used.
    func place(_ worker: NodeWorker, inPlaceOfThoseBefore moment: ContinuousClock.Instant?) -> Placement {
        change { state in
            let index = moment.flatMap { moment in state.workers.firstIndex { $0.startBegan < moment } }
            guard index != nil || state.workers.count < capacity else { return .full }
            let old = index.map { state.workers.remove(at: $0) }
            state.workers.append(worker)
            state.hasGivenUp = false
            return .placed(replacing: old)
        }
    }

    func remove(_ worker: NodeWorker) { change { state in state.workers.removeAll { $0 === worker } } }

    /// `ready` if all processes run, `down` if none will start, otherwise `starting`.
    var condition: String {
        state.withLock { $0.workers.count >= capacity ? "ready" : $0.hasGivenUp ? "down" : "starting" }
    }

    /// Fails waiting calls, because no process will start.
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

    /// Returns the process with the fewest calls.
    ///
    /// - Parameter limit: The maximum waiting time if no process is running.
    /// - Throws: `ParseError` 141 if no process becomes available, or `CancellationError` if the caller is cancelled.
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

/// The consecutive crashes in one slot, which determine the delay before the next start. Restarting never stops.
package struct CrashHistory {
    private var inRow = 0

    package init() {}

    /// A process that lived longer than this ends a series of crashes.
    static let span = Duration.seconds(60)

    /// Records a crash.
    ///
    /// - Parameters:
    ///   - lifetime: The time for which the process accepted calls.
    ///   - backOff: The delays by number of consecutive crashes. The last one applies to all further crashes.
    /// - Returns: The delay before the next start.
    package mutating func recordCrash(after lifetime: Duration, backOff: [Duration]) -> Duration {
        if lifetime > Self.span { inRow = 0 }
        inRow = min(inRow + 1, max(backOff.count, 1))
        return backOff.isEmpty ? .zero : backOff[inRow - 1]
    }
}
