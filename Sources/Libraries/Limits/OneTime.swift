import Synchronization

/// A value that is set once and that any number of tasks can wait for.
public final class OneTime<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var lastWaiter = 0
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        /// Waiters whose timeout expired before they were registered.
        var expired: Set<Int> = []
    }

    private let state = Mutex(State())

    public init() {}

    /// The value, or nil until it is set.
    public var value: Value? { state.withLock { $0.value } }

    /// Sets the value and resumes all waiters. Later values are ignored.
    public func set(_ value: Value) {
        let waiters = state.withLock { state in
            guard state.value == nil else { return [Int: CheckedContinuation<Value?, Never>]() }
            state.value = value
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: value) }
    }

    /// Waits for the value, even if the task is cancelled.
    ///
    /// - Parameter limit: The timeout, or nil for none.
    /// - Returns: The value, or nil on timeout.
    public nonisolated(nonsending) func wait(_ limit: Duration? = nil) async -> Value? {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let timer = limit.map { limit in
            Task {
                try await Task.sleep(for: limit)
                let waiter = state.withLock { state in
                    let waiter = state.waiters.removeValue(forKey: number)
                    if waiter == nil, state.value == nil { state.expired.insert(number) }
                    return waiter
                }
                waiter?.resume(returning: nil)
            }
        }
        defer { timer?.cancel() }
        return await withCheckedContinuation { continuation in
            let (value, waits) = state.withLock { state -> (Value?, Bool) in
                let waits = state.expired.remove(number) == nil && state.value == nil
                if waits { state.waiters[number] = continuation }
                return (state.value, waits)
            }
            if !waits { continuation.resume(returning: value) }
        }
    }
}
