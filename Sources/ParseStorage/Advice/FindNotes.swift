import JSON
import Postgres
import Synchronization
import Tasks

/// What was asked of the database and took long, by its shape, until it is written into a table.
///
/// It is bounded: what took least in all is forgotten. What one sender asks counts up to a bound, too, until it is written:
/// no sender alone decides what indexes are advised, and built, for.
public final class FindNotes: Sendable {
    /// How often something was asked, and how long that took.
    package struct Figures: Sendable, Equatable {
        package var calls = 0
        /// Milliseconds, in all and of the longest.
        package var total = 0.0
        var longest = 0.0
        /// How many were stopped by the time limit of statements.
        var timeouts = 0

        /// Milliseconds on average.
        var mean: Double { calls == 0 ? 0 : total / Double(calls) }

        static func + (left: Figures, right: Figures) -> Figures {
            Figures(
                calls: left.calls + right.calls, total: left.total + right.total,
                longest: max(left.longest, right.longest), timeouts: left.timeouts + right.timeouts)
        }
    }

    /// How many shapes are kept at most.
    package static let capacity = 500

    /// How many statements of one sender count until notes are written, about a minute, and how many milliseconds of them.
    package static let mostOfSender = (calls: 100, milliseconds: 20_000.0)
    /// How many senders are distinguished.
    package static let mostSenders = 1000

    private struct State {
        var figures: [StatementShape: Figures] = [:]
        /// What counted of each sender; of those that are not distinguished under nil.
        var senders: [Sender?: Figures] = [:]
    }

    private let state = Mutex(State())

    /// Notes for a process.
    public init() {}

    /// Notes a statement that took long.
    ///
    /// - Parameter isTimeout: Whether it was stopped by the time limit.
    @inline(never)
    package func note(_ sql: String, took duration: Duration, isTimeout: Bool, of sender: Sender = .current) {
        let milliseconds = duration / .milliseconds(1)
        let noted = Figures(calls: 1, total: milliseconds, longest: milliseconds, timeouts: isTimeout ? 1 : 0)
        guard counts(noted, of: sender) else { return }
        for shape in StatementReader.shapes(of: sql) where shape.isServable || shape.hasOther {
            // By the key there is one row at most.
            if shape.equal.contains("objectId"), !isTimeout { continue }
            add([shape: noted])
        }
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

    /// Adds figures, those that could not be written included.
    func add(_ more: [StatementShape: Figures]) {
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

    /// Gives the notes away.
    package func take() -> [StatementShape: Figures] {
        state.withLock { state in
            defer { state = State() }
            return state.figures
        }
    }
}
