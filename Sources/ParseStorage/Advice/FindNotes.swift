import JSON
import Postgres
import Synchronization

/// What was asked of the database and took long, by its shape, until it is written into a table.
///
/// It is bounded: what took least in all is forgotten.
public final class FindNotes: Sendable {
    /// How often something was asked, and how long that took.
    struct Figures: Sendable, Equatable {
        var calls = 0
        /// Milliseconds, in all and of the longest.
        var total = 0.0
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
    static let capacity = 500

    private let figures = Mutex<[StatementShape: Figures]>([:])

    /// Notes for a process.
    public init() {}

    /// Notes a statement that took long.
    ///
    /// - Parameter isTimeout: Whether it was stopped by the time limit.
    @inline(never)
    func note(_ sql: String, took duration: Duration, isTimeout: Bool) {
        let milliseconds = duration / .milliseconds(1)
        let noted = Figures(calls: 1, total: milliseconds, longest: milliseconds, timeouts: isTimeout ? 1 : 0)
        for shape in StatementReader.shapes(of: sql) where shape.isServable || shape.hasOther {
            // By the key there is one row at most.
            if shape.equal.contains("objectId"), !isTimeout { continue }
            add([shape: noted])
        }
    }

    /// Adds figures, those that could not be written included.
    func add(_ more: [StatementShape: Figures]) {
        figures.withLock { figures in
            for (shape, noted) in more {
                if figures[shape] == nil, figures.count >= Self.capacity,
                    let least = figures.min(by: { $0.value.total < $1.value.total })
                {
                    figures[least.key] = nil
                }
                figures[shape] = figures[shape, default: Figures()] + noted
            }
        }
    }

    /// Gives the notes away.
    func take() -> [StatementShape: Figures] {
        figures.withLock { figures in
            defer { figures = [:] }
            return figures
        }
    }
}
