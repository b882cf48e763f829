import CloudCode
import JSON
import ParseModel
import Synchronization
import Tasks

/// The calls that a process has been sent and has not answered.
final class OpenCalls: Sendable {
    private struct Entry {
        let call: CloudCall
        let sender: Sender
        var continuation: CheckedContinuation<JSONObject, any Error>?
    }

    private struct State {
        var isClosed = false
        var lastNumber = 0
        var entries: [Int: Entry] = [:]
    }

    /// The error of a call that waits when the process has ended.
    static let stopped = ParseError(ParseError.scriptFailed, "Cloud code stopped.")

    /// The process ended before the call reached it; another one may take it.
    struct Closed: Error {}

    private let state = Mutex(State())

    /// Sends a call, and waits for the answer.
    ///
    /// - Parameters:
    ///   - send: Sends the call by its number; what it throws is thrown.
    ///   - giveUp: Notifies the process that no caller waits any more.
    /// - Throws: ``Closed`` when the process has ended; 141 when it ends meanwhile; `CancellationError`.
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
                    state.entries[number] = Entry(call: call, sender: sender, continuation: continuation)
                    return nil
                }
                if let failure { return continuation.resume(throwing: failure) }
                do { try send(number) } catch { take(number)?.continuation?.resume(throwing: error) }
            }
        } onCancel: {
            guard let entry = take(number) else { return }
            giveUp(number)
            entry.continuation?.resume(throwing: CancellationError())
        }
    }

    private func take(_ number: Int) -> Entry? { state.withLock { $0.entries.removeValue(forKey: number) } }

    /// Takes the answer to a call; one without a waiting caller is dropped.
    func answer(_ number: Int, _ message: JSONObject) { take(number)?.continuation?.resume(returning: message) }

    /// Takes what a job says of its progress.
    func progress(_ number: Int, _ text: String) { call(number)?.message?(text) }

    /// The call of a number; nil when it has ended.
    func call(_ number: Int) -> CloudCall? { state.withLock { $0.entries[number]?.call } }

    /// On whose behalf a call is carried out; the server when it has ended.
    func sender(of number: Int) -> Sender { state.withLock { $0.entries[number]?.sender ?? .server } }

    var count: Int { state.withLock { $0.entries.count } }

    /// Ends all calls: the process is gone.
    func close() {
        let entries = state.withLock { state in
            state.isClosed = true
            defer { state.entries = [:] }
            return state.entries
        }
        for entry in entries.values { entry.continuation?.resume(throwing: Self.stopped) }
    }
}
