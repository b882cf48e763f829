import Synchronization

/// Whether the caller is still there to hear the answer.
///
/// Slow statements of a caller that has gone away are stopped on the server; see ``PostgresClient/slowQuery(_:)``. What
/// changes data goes on, because half of a request must not be carried out.
public final class CallerPresence: Sendable {
    /// The caller on whose behalf the current task runs, if the transport watches it.
    @TaskLocal public static var current: CallerPresence?

    private struct State: Sendable {
        var hasLeft = false
        var lastNumber = 0
        var departures: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())
    private let statement = Mutex<String?>(nil)
    private let senderNumber: Atomic<UInt64>

    /// Makes a presence of a caller that is there.
    ///
    /// - Parameter sender: On whose behalf its requests are carried out.
    public init(sender: Sender = .server) { senderNumber = Atomic(sender.number) }

    /// On whose behalf the caller's requests are carried out. Behind a proxy that is believed it changes with each request.
    public var sender: Sender {
        get { Sender(number: senderNumber.load(ordering: .relaxed)) }
        set { senderNumber.store(newValue.number, ordering: .relaxed) }
    }

    /// Notes the statement that took long for the caller.
    @inline(never)
    public func note(slowStatement text: String) { statement.withLock { $0 = text } }

    /// The statement that took long for the caller last; from then on there is none.
    @inline(never)
    public func takeSlowStatement() -> String? {
        statement.withLock { statement in
            defer { statement = nil }
            return statement
        }
    }

    /// Notes that the caller has gone away; what was begun for it is stopped.
    public func leave() {
        let departures = state.withLock { state in
            state.hasLeft = true
            defer { state.departures = [:] }
            return state.departures.values
        }
        for departure in departures { departure() }
    }

    /// Runs an operation in a task that is cancelled when the caller leaves, or the current task is cancelled.
    ///
    /// - Throws: What the operation throws.
    package func whilePresent<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await operation() }
        let number = onLeaving { task.cancel() }
        defer { forget(number) }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Whether the caller has gone away.
    public var hasLeft: Bool { state.withLock { $0.hasLeft } }

    /// Has something called when the caller leaves; at once, if that was before.
    ///
    /// - Returns: A number for ``forget(_:)``.
    public func onLeaving(_ departure: @escaping @Sendable () -> Void) -> Int {
        let (number, hasLeft) = state.withLock { state in
            state.lastNumber += 1
            if !state.hasLeft { state.departures[state.lastNumber] = departure }
            return (state.lastNumber, state.hasLeft)
        }
        if hasLeft { departure() }
        return number
    }

    /// Gives up a call that ``onLeaving(_:)`` asked for.
    public func forget(_ number: Int) {
        state.withLock { _ = $0.departures.removeValue(forKey: number) }
    }
}
