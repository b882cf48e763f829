import CloudCode
import JSON
import Limits
import ParseModel
import Synchronization

/// The calls that were sent to a process and have no result yet.
final class OpenCalls: Sendable {
    private typealias Entry = (
        call: CloudCall, sender: Sender, continuation: CheckedContinuation<JSONObject, any Error>
    )

    private struct State {
        var isClosed = false
        var lastNumber = 0
        var entries: [Int: Entry] = [:]
    }

    /// The error for calls whose process ends, and for calls for which no process is available.
    static let stopped = ParseError(ParseError.scriptFailed, "Cloud code stopped.")

    /// The error for a call whose process ended before it received the call. Another process may handle it.
    struct Closed: Error {}

    private let state = Mutex(State())

    /// Sends a call and waits for the result.
    ///
    /// - Parameters:
    ///   - send: Sends the call with its number. Its errors are rethrown.
    ///   - giveUp: Tells the process that the caller has stopped waiting.
    /// - Throws: ``Closed`` if the process had already ended, `ParseError` 141 if it ends during the call,
    ///   `CancellationError` if the caller is cancelled, and the errors of `send`.
    func exchange(
        _ call: CloudCall, send: @Sendable (Int) throws -> Void,
        giveUp: @escaping @Sendable (Int) -> Void
    ) async throws -> JSONObject {
        let sender = Sender.current
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let failure: (any Error)? = state.withLock { state in
                    if state.isClosed { return Closed() }
                    if Task.isCancelled { return CancellationError() }
                    state.entries[number] = (call, sender, continuation)
                    return nil
                }
                if let failure { return continuation.resume(throwing: failure) }
                do { try send(number) } catch { remove(number)?.continuation.resume(throwing: error) }
            }
        } onCancel: {
            guard let entry = remove(number) else { return }
            giveUp(number)
            entry.continuation.resume(throwing: CancellationError())
        }
    }

    private func remove(_ number: Int) -> Entry? { state.withLock { $0.entries.removeValue(forKey: number) } }

    /// Returns a result to the caller. Ignored if the caller has stopped waiting.
    func answer(_ number: Int, _ message: JSONObject) { remove(number)?.continuation.resume(returning: message) }

    /// Forwards a job's progress message.
    func progress(_ number: Int, _ text: String) { call(number)?.message?(text) }

    func call(_ number: Int) -> CloudCall? { state.withLock { $0.entries[number]?.call } }

    /// Returns the sender on whose behalf a call runs, or the server if the call has ended.
    func sender(of number: Int) -> Sender { state.withLock { $0.entries[number]?.sender ?? .server } }

    var count: Int { state.withLock { $0.entries.count } }

    /// Fails all open calls because the process has ended. Later calls fail with ``Closed``.
    func close() {
        let entries = state.withLock { state in
            state.isClosed = true
            defer { state.entries = [:] }
            return state.entries
        }
        for entry in entries.values { entry.continuation.resume(throwing: Self.stopped) }
    }
}
