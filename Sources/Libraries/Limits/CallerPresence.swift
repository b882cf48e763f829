import Synchronization

/// The connection state of a request's caller.
///
/// If the caller disconnects, slow reads are cancelled on the database server; see
/// ``PostgresClient/slowQuery(_:timeLimit:)``. Writes continue, because a request must not be carried out in part.
public final class CallerPresence: Sendable {
    /// The caller of the current task's request, if the transport watches the connection.
    @TaskLocal public static var current: CallerPresence?

    private struct State: Sendable {
        var hasLeft = false
        var lastNumber = 0
        var departures: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())
    private let statement = Mutex<String?>(nil)
    private let senderNumber: Atomic<UInt64>

    /// Creates the state of a connected caller.
    ///
    /// - Parameter sender: The sender whose share the caller's requests use.
    public init(sender: Sender = .server) { senderNumber = Atomic(sender.number) }

    /// The sender whose share the caller's requests use. Behind a trusted proxy it changes with each request.
    public var sender: Sender {
        get { Sender(number: senderNumber.load(ordering: .relaxed)) }
        set { senderNumber.store(newValue.number, ordering: .relaxed) }
    }

    /// Records a slow statement of the caller.
    @inline(never)
    public func record(slowStatement text: String) { statement.withLock { $0 = text } }

    /// Returns the last slow statement and clears it.
    @inline(never)
    public func removeSlowStatement() -> String? {
        statement.withLock { statement in
            defer { statement = nil }
            return statement
        }
    }

    /// Marks the caller as disconnected and calls the functions registered with ``onLeaving(_:)``.
    public func leave() {
        let departures = state.withLock { state in
            state.hasLeft = true
            defer { state.departures = [:] }
            return state.departures.values
        }
        for departure in departures { departure() }
    }

    /// Runs an operation that is cancelled if the caller disconnects or the current task is cancelled.
    ///
    /// - Throws: The errors of the operation.
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

    /// Whether the caller has disconnected.
    public var hasLeft: Bool { state.withLock { $0.hasLeft } }

    /// Registers a closure to call when the caller disconnects. Calls it immediately if that has already happened.
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

    /// Removes a closure registered with ``onLeaving(_:)``.
    public func forget(_ number: Int) {
        state.withLock { _ = $0.departures.removeValue(forKey: number) }
    }
}
