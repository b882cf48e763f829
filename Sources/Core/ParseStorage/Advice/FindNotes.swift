import Postgres
import Synchronization
import Tasks

/// Slow finds and counts of a process by their shape, until they are written into the table of all processes.
///
/// The shapes that took least in all are evicted. What one sender asks counts up to a limit until it is written, so that no
/// sender alone decides which indexes are advised and built.
public final class FindNotes: Sendable {
    package struct Figures: Sendable, Equatable {
        package var calls = 0
        /// In milliseconds, as is the longest.
        package var total = 0.0
        var longest = 0.0
        /// The number of statements that PostgreSQL stopped for taking too long.
        var timeouts = 0

        var mean: Double { calls == 0 ? 0 : total / Double(calls) }

        static func + (left: Figures, right: Figures) -> Figures {
            Figures(
                calls: left.calls + right.calls, total: left.total + right.total,
                longest: max(left.longest, right.longest), timeouts: left.timeouts + right.timeouts)
        }
    }

    package static let capacity = 500
    /// The most statements of one sender that count until notes are written, about a minute, and their milliseconds.
    package static let mostOfSender = (calls: 100, milliseconds: 20_000.0)
    package static let mostSenders = 1000

    private struct State {
        var figures: [QueryShape: Figures] = [:]
        /// The figures that counted by sender, with nil for all senders beyond the limit.
        var senders: [Sender?: Figures] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    @inline(never)
    package func note(_ shape: QueryShape, took duration: Duration, isTimeout: Bool, of sender: Sender = .current) {
        let milliseconds = duration / .milliseconds(1)
        let noted = Figures(calls: 1, total: milliseconds, longest: milliseconds, timeouts: isTimeout ? 1 : 0)
        if counts(noted, of: sender) { add([shape: noted]) }
    }

    private func counts(_ noted: Figures, of sender: Sender) -> Bool {
        guard sender != .server else { return true }
        return state.withLock { state in
            let isKnown = state.senders[sender] != nil || state.senders.count < Self.mostSenders
            let key = isKnown ? sender : nil
            let share = state.senders[key, default: Figures()]
            guard share.calls < Self.mostOfSender.calls, share.total < Self.mostOfSender.milliseconds else {
                return false
            }
            state.senders[key] = share + noted
            return true
        }
    }

    /// Adds figures, also those that could not be written.
    package func add(_ more: [QueryShape: Figures]) {
        state.withLock { state in
            for (shape, noted) in more {
                if state.figures[shape] == nil, state.figures.count >= Self.capacity,
                    let least = state.figures.min(by: { $0.value.total < $1.value.total })
                {
                    state.figures[least.key] = nil
                }
                state.figures[shape] = state.figures[shape, default: Figures()] + noted
            }
        }
    }

    package func take() -> [QueryShape: Figures] {
        state.withLock { state in
            defer { state = State() }
            return state.figures
        }
    }
}
