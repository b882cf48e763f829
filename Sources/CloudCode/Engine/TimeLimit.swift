import ParseModel
import Synchronization

/// Work that is waited for only so long.
enum TimeLimit {
    /// The error when the time is over.
    static let exceeded = ParseError(ParseError.timeout, "Cloud code timed out.")

    /// Does work. When its time is over, the work is cancelled, and no caller waits for whether it heeds that.
    ///
    /// - Parameter limit: How long it is waited for; nil for as long as it takes.
    /// - Throws: What the work throws; 124 when its time is over.
    static func run<Value: Sendable>(
        _ limit: Duration?, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let limit else { return try await work() }
        let race = Race<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                race.begin(continuation)
                let worker = Task {
                    do { race.end(.success(try await work())) } catch { race.end(.failure(error)) }
                }
                let clock = Task {
                    try await Task.sleep(for: limit)
                    race.end(.failure(exceeded))
                }
                race.follow {
                    worker.cancel()
                    clock.cancel()
                }
            }
        } onCancel: {
            race.end(.failure(CancellationError()))
        }
    }

    /// Which of several tasks is the first to end.
    private final class Race<Value: Sendable>: Sendable {
        private struct State {
            var continuation: CheckedContinuation<Value, any Error>?
            var outcome: Result<Value, any Error>?
            var stop: (@Sendable () -> Void)?
        }

        private let state = Mutex(State())

        func begin(_ continuation: CheckedContinuation<Value, any Error>) {
            let outcome: Result<Value, any Error>? = state.withLock { state in
                if state.outcome == nil { state.continuation = continuation }
                return state.outcome
            }
            if let outcome { continuation.resume(with: outcome) }
        }

        /// Says how the others are stopped.
        func follow(_ stop: @escaping @Sendable () -> Void) {
            let isOver = state.withLock { state in
                state.stop = stop
                return state.outcome != nil
            }
            if isOver { stop() }
        }

        func end(_ outcome: Result<Value, any Error>) {
            let (continuation, stop) = state.withLock { state in
                guard state.outcome == nil else {
                    return (nil as CheckedContinuation<Value, any Error>?, nil as (@Sendable () -> Void)?)
                }
                state.outcome = outcome
                defer { state.continuation = nil }
                return (state.continuation, state.stop)
            }
            stop?()
            continuation?.resume(with: outcome)
        }
    }
}
