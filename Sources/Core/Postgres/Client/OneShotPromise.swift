import Synchronization

/// A value that one task waits for. Only the first call of ``fulfill(_:)`` counts.
package struct OneShotPromise<Value: Sendable>: ~Copyable, Sendable {
    // Not private: otherwise Swift 6.3 fails to compile other files that embed the mutex.
    enum State {
        case open
        case awaited(UnsafeContinuation<Value, any Error>)
        /// Fulfilled before a task waited.
        case fulfilled(Result<Value, PostgresError>)
        case closed
    }

    private let state = Mutex(State.open)

    /// Whether the value is set. If so, no task waits for it any longer.
    package var isFulfilled: Bool {
        state.withLock {
            switch $0 {
            case .open, .awaited: false
            case .fulfilled, .closed: true
            }
        }
    }

    /// Sets the value. Returns false if the promise already had one.
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
        continuation?.resume(with: result)
        return isFirst
    }

    /// Lets a continuation wait for the value. If the value is already set, resumes the continuation and returns false.
    private func wait(with continuation: UnsafeContinuation<Value, any Error>) -> Bool {
        let result = state.withLock { state -> Result<Value, PostgresError>? in
            guard case .fulfilled(let result) = state else {
                state = .awaited(continuation)
                return nil
            }
            state = .closed
            return result
        }
        guard let result else { return true }
        continuation.resume(with: result)
        return false
    }

    /// Calls `send`, unless the promise is already fulfilled, and waits for the value. Throws the error instead if the
    /// promise is fulfilled with one.
    ///
    /// - Parameter send: Returns false if the client has ended or its thread can't start.
    @inline(__always)
    package func value(sending send: () -> Bool) async throws -> Value {
        // Unsafe continuations are faster. The states ensure that each is resumed exactly once.
        try await withUnsafeThrowingContinuation { continuation in
            if wait(with: continuation), !send() { fulfill(.failure(.shutDown)) }
        }
    }
}
