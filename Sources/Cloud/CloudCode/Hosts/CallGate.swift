import ParseModel
import Tasks

/// Lets in so many calls of cloud code at a time, or so many bytes that they carry; the others wait in a queue that is
/// fair to senders.
///
/// Calls of each depth have slots of their own, so that a call never waits for the one that waits for it. One sender
/// has at most three quarters of the room, and of those that wait; many senders leave room to the next, who waits
/// for none of their calls to end.
package struct CallGate: Sendable {
    /// What a call is refused with when too many wait.
    package static let overloaded = ParseError(ParseError.requestLimitExceeded, "Cloud code is overloaded.")

    /// By depth.
    private let gates: [Gate]

    /// Makes a gate.
    ///
    /// - Parameters:
    ///   - capacity: How many calls of one depth are let in at a time, or how much they weigh.
    ///   - mostWaiting: How many of one depth wait.
    package init(capacity: Int, mostWaiting: Int = .max) {
        gates = (0..<CloudEngine.deepest).map { _ in
            Gate(
                capacity: capacity, leavesRoom: true, mostWaiting: mostWaiting,
                waitingShare: mostWaiting - mostWaiting / 4)
        }
    }

    /// Runs a call when there is room for it.
    ///
    /// - Throws: 155 when too many wait; `CancellationError` when the caller left before; what `body` throws.
    package func run<R>(
        _ call: CloudCall, weight: Int = 1, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        do {
            return try await gate(of: call).run(weight: weight, body)
        } catch is Gate.Full {
            throw Self.overloaded
        }
    }

    /// How many are inside, or what they weigh.
    package var used: Int { gates.reduce(0) { $0 + $1.used } }

    private func gate(of call: CloudCall) -> Gate {
        call.isNested ? gates[min(max(call.depth, 1), gates.count) - 1] : gates[0]
    }
}
