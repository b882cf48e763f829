import Synchronization

/// A value that one task waits for. The first call fulfills it; later values are dropped.
package struct OneShotPromise<Value: Sendable>: ~Copyable, Sendable {
    // Not private: Swift 6.3 breaks off compiling other files that embed the mutex.
    enum State {
        case open
        case awaited(UnsafeContinuation<Value, any Error>)
        /// Fulfilled before a task waited.
        case fulfilled(Result<Value, PostgresError>)
        case closed
    }

    private let state = Mutex(State.open)

    /// Whether it has its value already, so that no task waits any longer.
    package var isFulfilled: Bool {
        state.withLock {
            switch $0 {
            case .open, .awaited: false
            case .fulfilled, .closed: true
            }
        }
    }

    /// Fulfills it; false when it was fulfilled before.
    @discardableResult
    func fulfill(_ result: Result<Value, PostgresError>) -> Bool {
        let (isFirst, continuation) = state.withLock { state -> (Bool, UnsafeContinuation<Value, any Error>?) in
            switch state {
            case .open:
                state = .fulfilled(result)
                return (true, nil)
            case .awaited(let continuation):
                state = .closed
                return (true, continuation)
            case .fulfilled, .closed:
                return (false, nil)
            }
        }
        if let continuation { Self.resume(continuation, result) }
        return isFirst
    }

    /// Makes a continuation wait for it; false when it was fulfilled before, and the continuation is resumed with the value.
    package func wait(with continuation: UnsafeContinuation<Value, any Error>) -> Bool {
        let result = state.withLock { state -> Result<Value, PostgresError>? in
            guard case .fulfilled(let result) = state else {
                state = .awaited(continuation)
                return nil
            }
            state = .closed
            return result
        }
        guard let result else { return true }
        Self.resume(continuation, result)
        return false
    }

    // Unsafe continuations, for their speed: the states above see to it that each is resumed exactly once.
    private static func resume(
        _ continuation: UnsafeContinuation<Value, any Error>, _ result: Result<Value, PostgresError>
    ) {
        switch result {
        case .success(let value): continuation.resume(returning: value)
        case .failure(let error): continuation.resume(throwing: error)
        }
    }
}
