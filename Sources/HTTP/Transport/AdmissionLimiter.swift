import Collections
import Synchronization

/// Lets so many requests with large bodies be carried out at a time; the others wait in the order in which they came.
///
/// What a body becomes on its way to the database, values and statements, takes ten times its size. A wave of batches
/// would fill the memory with work that the database cannot do any faster for being begun.
package final class AdmissionLimiter: Sendable {
    private struct State {
        var free: Int
        var waiting: Deque<UnsafeContinuation<Void, Never>> = []
    }

    private let state: Mutex<State>

    /// From how many bytes on a body is large.
    package static let size = 8 * 1024

    /// Makes a list.
    ///
    /// - Parameter places: How many are carried out at most.
    package init(places: Int) { state = Mutex(State(free: places)) }

    /// Carries out a request with a body of so many bytes, when it is its turn; one with a small body at once.
    package func inTurn<R>(bytes: Int, _ body: () async throws -> R) async rethrows -> R {
        guard bytes >= Self.size else { return try await body() }
        await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async {
        // Unsafe continuations, for their speed: each is taken out of the list when it is resumed.
        await withUnsafeContinuation { continuation in
            let mayEnter = state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if mayEnter { continuation.resume() }
        }
    }

    private func leave() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            if next == nil { state.free += 1 }
            return next
        }
        next?.resume()
    }
}
