import JSON
import Synchronization

/// Lets those who read an object and tell of it take turns: whoever follows it hears of its versions in their order.
final class ChangeTurns: Sendable {
    private struct Key: Hashable {
        let className: Name
        let objectId: Name
    }

    /// Who waits for the turn, for each object that has somebody's.
    private let waiting = Mutex<[Key: [CheckedContinuation<Void, Never>]]>([:])

    /// Does something when it is its turn.
    func take(_ className: String, _ objectId: String, _ body: () async -> Void) async {
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
        await body()
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
