import Synchronization

/// A place in a gate that is free again when it is given back, or let go.
public final class GatePlace: Sendable {
    private let gate: Gate
    private let sender: Sender
    private let isHeld = Atomic(true)

    private init(_ gate: Gate, _ sender: Sender) {
        self.gate = gate
        self.sender = sender
    }

    deinit { release() }

    /// Waits for a place.
    ///
    /// - Throws: What ``Gate/enter(weight:of:)`` throws.
    public static func wait(in gate: Gate, of sender: Sender) async throws -> GatePlace {
        try await gate.enter(of: sender)
        return GatePlace(gate, sender)
    }

    /// Takes a place; nil where none is free for the sender now.
    public static func take(in gate: Gate, of sender: Sender) -> GatePlace? {
        gate.tryEnter(of: sender) ? GatePlace(gate, sender) : nil
    }

    /// Gives the place back, once.
    public func release() {
        if isHeld.exchange(false, ordering: .relaxed) { gate.leave(of: sender) }
    }
}
