import Collections
import ParseModel
import Synchronization

/// How many calls a process has open at a time, and how many wait for their turn.
///
/// Calls within calls do not wait: the outer one holds a place until they have ended, and would wait for ever.
final class CallGate: Sendable {
    private struct State {
        var open = 0
        var nested = 0
        var isClosed = false
        var lastNumber = 0
        var waiting: Deque<(number: Int, continuation: CheckedContinuation<Void, any Error>)> = []
    }

    /// The process is gone; another one may take the call.
    struct Closed: Error {}

    /// What a call that finds no place is told.
    static let overloaded = ParseError(ParseError.requestLimitExceeded, "Cloud code is overloaded.")
    /// The most calls within calls.
    private static let mostNested = 4096

    private let state = Mutex(State())
    private let places: Int
    private let queue: Int

    /// - Parameters:
    ///   - places: The most calls at a time.
    ///   - queue: The most calls that wait.
    init(places: Int, queue: Int) {
        self.places = places
        self.queue = queue
    }

    /// How many calls are open or wait.
    var load: Int { state.withLock { $0.open + $0.nested + $0.waiting.count } }

    /// Runs a call when it has a place.
    ///
    /// - Throws: 155 when too many wait; `Closed` when the process is gone; what the call throws.
    func enter<Value>(isNested: Bool, _ call: () async throws -> Value) async throws -> Value {
        if isNested {
            try state.withLock { state in
                if state.isClosed { throw Closed() }
                guard state.nested < Self.mostNested else { throw Self.overloaded }
                state.nested += 1
            }
            defer { state.withLock { $0.nested -= 1 } }
            return try await call()
        }
        try await takePlace()
        defer { leavePlace() }
        return try await call()
    }

    /// Lets nobody in any more; those who wait are told.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.continuation.resume(throwing: Closed()) }
    }

    private func takePlace() async throws {
        let number: Int? = try state.withLock { state in
            if state.isClosed { throw Closed() }
            if state.open < places {
                state.open += 1
                return nil
            }
            guard state.waiting.count < queue else { throw Self.overloaded }
            state.lastNumber += 1
            return state.lastNumber
        }
        guard let number else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.isClosed { return .failure(Closed()) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.open < places {
                        state.open += 1
                        return .success(())
                    }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private func leavePlace() {
        let next: CheckedContinuation<Void, any Error>? = state.withLock { state in
            // The place goes to the call that waits longest.
            if let next = state.waiting.popFirst() { return next.continuation }
            state.open -= 1
            return nil
        }
        next?.resume()
    }
}
