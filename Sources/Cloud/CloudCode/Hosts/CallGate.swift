import Limits
import ParseModel

/// Limits concurrent cloud-code calls. Further calls wait in a queue that is fair to senders.
///
/// Calls of each nesting depth have separate slots, so a call never waits for the call that waits for it. One sender
/// can occupy at most three quarters of the slots and of the queue. If many senders are active, some slots stay free
/// for new ones.
package struct CallGate: Sendable {
    /// The error if too many calls wait.
    package static let overloaded = ParseError(ParseError.requestLimitExceeded, "Cloud code is overloaded.")

    private let gates: [Gate]

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - capacity: Maximum number of concurrent calls per depth.
    ///   - maxWaiting: Maximum number of waiting calls per depth.
    package init(capacity: Int, maxWaiting: Int = .max) {
        gates = (0..<CloudEngine.deepest).map { _ in
            Gate(
                capacity: capacity, leavesRoom: true, maxWaiting: maxWaiting,
                waitingShare: maxWaiting - maxWaiting / 4)
        }
    }

    /// Waits for a free slot and runs a call.
    ///
    /// - Throws: 155 if too many calls wait, `CancellationError` if the task is cancelled while waiting, and the errors
    ///   of `body`.
    package func run<R>(_ call: CloudCall, _ body: nonisolated(nonsending) () async throws -> R) async throws -> R {
        do {
            return try await gate(of: call).run(body)
        } catch is Gate.Full {
            throw Self.overloaded
        }
    }

    /// The number of running calls.
    package var used: Int { gates.reduce(0) { $0 + $1.used } }

    private func gate(of call: CloudCall) -> Gate {
        call.isNested ? gates[min(max(call.depth, 1), gates.count) - 1] : gates[0]
    }
}
