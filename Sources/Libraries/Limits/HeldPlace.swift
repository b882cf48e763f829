import Synchronization

/// A request's slot in a gate. Released while the request waits for external code, because that code may make requests
/// that also need slots.
public final class HeldPlace: Sendable {
    /// The slot of the current task's request, or nil if it has none.
    @TaskLocal public static var current: HeldPlace?

    private struct State {
        /// The time since which the slot is held, or nil if it isn't.
        var since: ContinuousClock.Instant? = .now
        /// The number of the request's parts that wait for external code.
        var outside = 0
        var isOver = false
    }

    private let gate: Gate
    private let weight: Int
    private let sender: Sender
    private let state = Mutex(State())

    private init(in gate: Gate, weight: Int, of sender: Sender) {
        self.gate = gate
        self.weight = weight
        self.sender = sender
    }

    /// Runs `body` with a slot in a gate.
    ///
    /// - Parameter weight: The weight of the slot.
    /// - Throws: The errors of `body` and of ``Gate/enter(weight:of:)``.
    public nonisolated(nonsending) static func run<R>(
        in gate: Gate, weight: Int = 1, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        let sender = Sender.current
        try await gate.enter(weight: weight, of: sender)
        let place = HeldPlace(in: gate, weight: weight, of: sender)
        defer { place.leave { $0.isOver = true } }
        return try await $current.withValue(place) { try await body() }
    }

    /// Releases the slot until ``comeBack(takingPlace:)``, which must be called once for each call of this method.
    public func goOutside() {
        leave { $0.outside += 1 }
    }

    /// Ends the wait of one part of the request for external code.
    ///
    /// - Parameter takesPlace: Whether to reacquire the slot, because work that needs it follows. Only the last part that
    ///   returns does so, because external code may still need the slot. If the caller has disconnected, the
    ///   request continues without a slot, because it must not be carried out in part.
    public nonisolated(nonsending) func comeBack(takingPlace takesPlace: Bool) async {
        guard recordReturn(), takesPlace else { return }
        guard (try? await gate.enter(weight: weight, of: sender)) != nil else { return }
        if !recordEntry() { gate.leave(weight: weight, of: sender) }
    }

    /// - Returns: Whether no part waits and no slot is held.
    private func recordReturn() -> Bool {
        state.withLock { state in
            state.outside -= 1
            return state.outside == 0 && state.since == nil
        }
    }

    /// - Returns: Whether the acquired slot is still needed.
    private func recordEntry() -> Bool {
        state.withLock { state in
            guard state.outside == 0, state.since == nil, !state.isOver else { return false }
            state.since = .now
            return true
        }
    }

    private func leave(_ change: (inout State) -> Void) {
        let since = state.withLock { state in
            change(&state)
            defer { state.since = nil }
            return state.since
        }
        if let since { gate.leave(weight: weight, of: sender, spending: .now - since) }
    }
}
