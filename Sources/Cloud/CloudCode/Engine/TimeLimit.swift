import Limits
import ParseModel

/// Runs work with a time limit.
package enum TimeLimit {
    static let exceeded = ParseError(ParseError.timeout, "Cloud code timed out.")

    /// Runs `work`. On timeout or cancellation, cancels the work and throws without waiting for it to stop.
    ///
    /// - Parameter limit: The time limit, or nil to wait until the work ends.
    /// - Throws: 124 on timeout, `CancellationError`, and the errors of `work`.
    package static func run<Value: Sendable>(
        _ limit: Duration?, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let limit else { return try await work() }
        let outcome = OneTime<Result<Value, any Error>>()
        let worker = Task {
            do { outcome.set(.success(try await work())) } catch { outcome.set(.failure(error)) }
        }
        defer { worker.cancel() }
        return try await withTaskCancellationHandler {
            guard let result = await outcome.wait(limit) else { throw exceeded }
            return try result.get()
        } onCancel: {
            outcome.set(.failure(CancellationError()))
        }
    }
}
