import Synchronization

/// The place in a gate that a request holds while it is carried out, and gives back while it waits for code that is not
/// the server's: that code may make requests of its own, which need slots, too.
public final class HeldPlace: Sendable {
    /// The place of the request that the current task carries out; nil where it holds none.
    @TaskLocal public static var current: HeldPlace?

    private struct State {
        /// The time since which the slot is held, or nil if it isn't.
        var since: ContinuousClock.Instant? = .now
        /// How many parts of the request wait for other code.
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

    /// Runs `body` with a place in a gate.
    ///
    /// - Parameter weight: What the place weighs.
    /// - Throws: What `body` throws; what ``Gate/enter(weight:of:)`` throws.
    public nonisolated(nonsending) static func run<R>(
        in gate: Gate, weight: Int = 1, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        let sender = Sender.current
        try await gate.enter(weight: weight, of: sender)
        let place = HeldPlace(in: gate, weight: weight, of: sender)
        defer { place.finish() }
        return try await $current.withValue(place) { try await body() }
    }

    /// Gives the place back until ``comeBack(takingPlace:)``, which is called once for each call of this.
    public func goOutside() {
        leave { $0.outside += 1 }
    }

    /// Notes that a part of the request waits no more.
    ///
    /// - Parameter takesPlace: Whether it waits for a place again, because what follows is heavy. The last part that
    ///   comes back takes it: as long as another one waits for code, the code may need the place. A part whose caller
    ///   has left goes on without one, since half of a request must not be carried out.
    public nonisolated(nonsending) func comeBack(takingPlace takesPlace: Bool) async {
        guard noteReturn(), takesPlace else { return }
        guard (try? await gate.enter(weight: weight, of: sender)) != nil else { return }
        if !noteEntry() { gate.leave(weight: weight, of: sender) }
    }

    /// - Returns: Whether no part waits and no slot is held.
    private func noteReturn() -> Bool {
        state.withLock { state in
            state.outside -= 1
            return state.outside == 0 && state.since == nil
        }
    }

    /// - Returns: Whether the acquired slot is kept.
    private func noteEntry() -> Bool {
        state.withLock { state in
            guard state.outside == 0, state.since == nil, !state.isOver else { return false }
            state.since = .now
            return true
        }
    }

    private func finish() {
        leave { $0.isOver = true }
    }

    /// Releases the slot if it is held.
    private func leave(_ change: (inout State) -> Void) {
        let since = state.withLock { state in
            change(&state)
            defer { state.since = nil }
            return state.since
        }
        if let since { gate.leave(weight: weight, of: sender, spending: .now - since) }
    }
}
