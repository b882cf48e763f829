import Synchronization

/// A slot in a gate. Freed by ``release()`` or when the object is deallocated.
public final class GatePlace: Sendable {
    private let gate: Gate
    private let sender: Sender
    private let isHeld = Atomic(true)

    private init(_ gate: Gate, _ sender: Sender) {
        self.gate = gate
        self.sender = sender
    }

    deinit { release() }

    /// Waits for a slot.
    ///
    /// - Throws: The errors of ``Gate/enter(weight:of:)``.
    public static func wait(in gate: Gate, of sender: Sender) async throws -> GatePlace {
        try await gate.enter(of: sender)
        return GatePlace(gate, sender)
    }

    /// Returns a slot, or nil if none is free for the sender.
    public static func acquire(in gate: Gate, of sender: Sender) -> GatePlace? {
        gate.tryEnter(of: sender) ? GatePlace(gate, sender) : nil
    }

    /// Releases the slot. Further calls have no effect.
    public func release() {
        if isHeld.exchange(false, ordering: .relaxed) { gate.leave(of: sender) }
    }
}
