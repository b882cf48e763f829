import CloudCode
import JSON
import ParseModel
import Synchronization

/// The calls that a process has been sent and has not answered.
final class OpenCalls: Sendable {
    private struct Entry {
        let call: CloudCall
        var continuation: CheckedContinuation<JSONObject, any Error>?
    }

    private struct State {
        var isClosed = false
        var lastNumber = 0
        var entries: [Int: Entry] = [:]
    }

    /// What a call that waits is told when the process has ended.
    static let stopped = ParseError(ParseError.scriptFailed, "Cloud code stopped.")

    private let state = Mutex(State())

    /// Sends a call, and waits for the answer.
    ///
    /// - Parameters:
    ///   - send: Sends the call by its number; what it throws is thrown.
    ///   - giveUp: Tells the process that nobody waits any more.
    /// - Throws: 141 when the process ends; `CancellationError`.
    func exchange(
        _ call: CloudCall, send: @Sendable (Int) throws -> Void,
        giveUp: @escaping @Sendable (Int) -> Void
    ) async throws -> JSONObject {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let failure: (any Error)? = state.withLock { state in
                    if state.isClosed { return Self.stopped }
                    if Task.isCancelled { return CancellationError() }
                    state.entries[number] = Entry(call: call, continuation: continuation)
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

    /// Takes the answer to a call; one that nobody waits for is dropped.
    func answer(_ number: Int, _ message: JSONObject) { take(number)?.continuation?.resume(returning: message) }

    /// Takes what a job says of its progress.
    func progress(_ number: Int, _ text: String) { call(number)?.message?(text) }

    /// The call of a number; nil when it has ended.
    func call(_ number: Int) -> CloudCall? { state.withLock { $0.entries[number]?.call } }

    /// How many there are.
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
