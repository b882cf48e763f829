import JSON
import Synchronization

/// Lets those who change an object and report it take turns: its followers hear of its versions in their order.
final class ChangeTurns: Sendable {
    private struct Key: Hashable {
        let className: Name
        let objectId: Name
    }

    /// The callers that wait for the turn, for each object whose turn is taken.
    private let waiting = Mutex<[Key: [CheckedContinuation<Void, Never>]]>([:])

    /// Does something when it is its turn.
    func take<R: Sendable>(_ className: String, _ objectId: String, _ body: () async throws -> R) async rethrows -> R {
        let key = Key(className: Name(className), objectId: Name(objectId))
        await withCheckedContinuation { continuation in
            let isFree = waiting.withLock { waiting in
                guard waiting[key] != nil else {
                    waiting[key] = []
                    return true
                }
                waiting[key]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        defer { pass(on: key) }
        return try await body()
    }

    private func pass(on key: Key) {
        let next = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            if waiting[key]?.isEmpty ?? true {
                waiting[key] = nil
                return nil
            }
            return waiting[key]?.removeFirst()
        }
        next?.resume()
    }
}
