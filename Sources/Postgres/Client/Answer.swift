import Synchronization

/// What one task waits for. It is given once, by whoever comes first; what comes later is dropped.
struct Answer<Value: Sendable>: ~Copyable, Sendable {
    // Not private: Swift 6.3 breaks off compiling other files that embed the mutex.
    enum State {
        case open
        case awaited(UnsafeContinuation<Value, any Error>)
        /// Given before anybody waited.
        case given(Result<Value, PostgresError>)
        case closed
    }

    private let state = Mutex(State.open)

    /// Whether it was given already, so that nobody waits any longer.
    var isGiven: Bool {
        state.withLock {
            switch $0 {
            case .open, .awaited: false
            case .given, .closed: true
            }
        }
    }

    /// Gives it; false when somebody was faster.
    @discardableResult
    func give(_ result: Result<Value, PostgresError>) -> Bool {
        let (isFirst, continuation) = state.withLock { state -> (Bool, UnsafeContinuation<Value, any Error>?) in
            switch state {
            case .open:
                state = .given(result)
                return (true, nil)
            case .awaited(let continuation):
                state = .closed
                return (true, continuation)
            case .given, .closed:
                return (false, nil)
            }
        }
        if let continuation { Self.resume(continuation, result) }
        return isFirst
    }

    /// Makes a continuation wait for it; false when it was given before, and the continuation resumed with it.
    func wait(with continuation: UnsafeContinuation<Value, any Error>) -> Bool {
        let result = state.withLock { state -> Result<Value, PostgresError>? in
            guard case .given(let result) = state else {
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
