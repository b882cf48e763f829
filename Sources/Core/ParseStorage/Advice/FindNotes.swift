import Limits
import Postgres
import Synchronization

/// This process's slow finds, counts and distinct queries by query shape, until they are written to the shared table.
///
/// If there are too many shapes, the one with the least total time is evicted. Each sender counts only up to a limit,
/// which keeps any single sender from deciding which indexes are advised and built.
public final class FindNotes: Sendable {
    package struct Figures: Sendable, Equatable {
        package var calls = 0
        /// The total time in milliseconds.
        package var total = 0.0
        /// The longest duration of a query, in milliseconds.
        var longest = 0.0
        /// The number of statements that were stopped for taking too long.
        var timeouts = 0

        var mean: Double { calls == 0 ? 0 : total / Double(calls) }

        static func + (left: Figures, right: Figures) -> Figures {
            Figures(
                calls: left.calls + right.calls, total: left.total + right.total,
                longest: max(left.longest, right.longest), timeouts: left.timeouts + right.timeouts)
        }
    }

    package static let capacity = 500
    /// The limit per sender between two writes to the shared table, which are about a minute apart.
    package static let maxPerSender = (calls: 100, milliseconds: 20_000.0)
    package static let maxSenders = 1000

    private struct State {
        var figures: [QueryShape: Figures] = [:]
        /// The figures per sender, with the key nil for all senders beyond `maxSenders`.
        var senders: [Sender?: Figures] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    @inline(never)
    package func record(_ shape: QueryShape, took duration: Duration, isTimeout: Bool, of sender: Sender = .current) {
        let milliseconds = duration / .milliseconds(1)
        let recorded = Figures(calls: 1, total: milliseconds, longest: milliseconds, timeouts: isTimeout ? 1 : 0)
        if counts(recorded, of: sender) { add([shape: recorded]) }
    }

    private func counts(_ recorded: Figures, of sender: Sender) -> Bool {
        guard sender != .server else { return true }
        return state.withLock { state in
            let isKnown = state.senders[sender] != nil || state.senders.count < Self.maxSenders
            let key = isKnown ? sender : nil
            let share = state.senders[key, default: Figures()]
            guard share.calls < Self.maxPerSender.calls, share.total < Self.maxPerSender.milliseconds else {
                return false
            }
            state.senders[key] = share + recorded
            return true
        }
    }

    /// Adds figures, including those that couldn't be written to the table.
    package func add(_ more: [QueryShape: Figures]) {
        state.withLock { state in
            for (shape, recorded) in more {
                if state.figures[shape] == nil, state.figures.count >= Self.capacity,
                    let cheapest = state.figures.min(by: { $0.value.total < $1.value.total })
                {
                    state.figures[cheapest.key] = nil
                }
                state.figures[shape] = state.figures[shape, default: Figures()] + recorded
            }
        }
    }

    package func drain() -> [QueryShape: Figures] {
        state.withLock { state in
            defer { state = State() }
            return state.figures
        }
    }
}
