import Synchronization

/// Room in a gate. Freed by ``release()`` or when the object is deallocated.
public final class GatePlace: Sendable {
    private let gate: Gate
    private let weight: Int
    private let sender: Sender
    private let isHeld = Atomic(true)

    private init(_ gate: Gate, _ weight: Int, _ sender: Sender) {
        self.gate = gate
        self.weight = weight
        self.sender = sender
    }

    deinit { release() }

    /// Waits for room.
    ///
    /// - Throws: The errors of ``Gate/enter(weight:of:)``.
    public static func wait(in gate: Gate, weight: Int = 1, of sender: Sender) async throws -> GatePlace {
        try await gate.enter(weight: weight, of: sender)
        return GatePlace(gate, weight, sender)
    }

    /// Returns a slot, or nil if none is free for the sender or others wait.
    public static func acquire(in gate: Gate, of sender: Sender = .current) -> GatePlace? {
        gate.tryEnter(of: sender) ? GatePlace(gate, 1, sender) : nil
    }

    /// Acquires room regardless of the capacity.
    public static func add(to gate: Gate, weight: Int, of sender: Sender) -> GatePlace {
        gate.add(weight: weight, of: sender)
        return GatePlace(gate, weight, sender)
    }

    /// Releases the room. Further calls have no effect.
    public func release() {
        if isHeld.exchange(false, ordering: .relaxed) { gate.leave(weight: weight, of: sender) }
    }
}
