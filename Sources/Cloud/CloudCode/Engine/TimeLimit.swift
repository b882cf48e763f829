import ParseModel
import Tasks

/// Work that is waited for only so long.
package enum TimeLimit {
    /// The error when the time is over.
    static let exceeded = ParseError(ParseError.timeout, "Cloud code timed out.")

    /// Does work. When its time is over, the work is cancelled, and no caller waits for whether it heeds that.
    ///
    /// - Parameter limit: How long it is waited for; nil for as long as it takes.
    /// - Throws: What the work throws; 124 when its time is over.
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
