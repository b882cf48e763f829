import Synchronization

/// A value that comes once, and that any number of tasks wait for.
public final class OneTime<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var lastWaiter = 0
        var waiters: [Int: CheckedContinuation<Value?, Never>] = [:]
        /// Waits whose time was over before they began.
        var expired: Set<Int> = []
    }

    private let state = Mutex(State())

    /// Makes one that waits for its value.
    public init() {}

    /// The value, once it is there.
    public var value: Value? { state.withLock { $0.value } }

    /// Gives the value; one that comes later than another is dropped.
    public func set(_ value: Value) {
        let waiters = state.withLock { state in
            guard state.value == nil else { return [Int: CheckedContinuation<Value?, Never>]() }
            state.value = value
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: value) }
    }

    /// Waits for the value, also when the task is cancelled.
    ///
    /// - Parameter limit: How long it is waited for; nil for as long as it takes.
    /// - Returns: The value; nil when the time is over.
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
