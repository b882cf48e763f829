import Synchronization

/// The port that a server got, for those who wait for it.
final class ListeningPort: Sendable {
    private enum State {
        case pending([CheckedContinuation<Int, any Error>])
        case settled(Result<Int, any Error>)
    }

    private let state = Mutex<State>(.pending([]))

    /// The port, once the server listens.
    ///
    /// - Throws: What kept the server from listening.
    var value: Int {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let settled: Result<Int, any Error>? = state.withLock { state in
                    switch state {
                    case .settled(let result):
                        return result
                    case .pending(let waiting):
                        state = .pending(waiting + [continuation])
                        return nil
                    }
                }
                if let settled { continuation.resume(with: settled) }
            }
        }
    }

    /// Says which port it is, or why there is none. Only the first time counts.
    func settle(_ result: Result<Int, any Error>) {
        let waiting: [CheckedContinuation<Int, any Error>] = state.withLock { state in
            guard case .pending(let waiting) = state else { return [] }
            state = .settled(result)
            return waiting
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}
