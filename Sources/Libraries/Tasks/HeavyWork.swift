import Synchronization

/// Work that takes more than a millisecond of a processor: it leaves the event loop, on which everybody else waits.
///
/// It runs on the threads that the server names: those that Swift keeps for tasks are its event loops.
public enum HeavyWork {
    private static let named = Mutex<(@Sendable (Sender) -> any TaskExecutor)?>(nil)

    /// The executor of the current sender's work. By default it is Swift's own thread pool.
    public static var executor: any TaskExecutor {
        named.withLock { $0 }?(.current) ?? globalConcurrentExecutor
    }

    /// Sets the threads, which may differ by sender.
    public static func use(_ executor: @escaping @Sendable (Sender) -> any TaskExecutor) {
        named.withLock { $0 = executor }
    }

    /// From how many bytes on a request, or the rows of an answer, are heavy.
    public static let size = 16 * 1024
    /// From how many bytes on the rows of an answer are heavy: writing is faster than reading.
    public static let answerSize = 256 * 1024

    /// Bytes turned into values at a time, for all senders together. Values take many times as much.
    private static let valueBudget = Gate(capacity: 4 * 1024 * 1024)

    /// Makes values of bytes: where these are many, away from the caller's event loop, in a queue that is fair to
    /// senders.
    ///
    /// - Parameter bytes: How many bytes the values are made of.
    /// - Throws: What `body` throws; `CancellationError` when the task was cancelled before it was its turn.
    public static func makeValues<R>(of bytes: Int, _ body: () throws -> R) async throws -> R {
        guard bytes > size else { return try body() }
        do {
            try await valueBudget.enter(weight: bytes)
        } catch is CancellationError where !Task.isCancelled {
            // The caller has left, and what it began is carried out all the same: no other caller waits for it.
            return try await run { try body() }
        }
        defer { valueBudget.leave(weight: bytes) }
        return try await run { try body() }
    }

    /// Runs `body`, and what it calls, away from the caller's event loop, and comes back to it.
    public static func run<R>(_ body: () async throws -> R) async rethrows -> R {
        try await withTaskExecutorPreference(executor) {
            // The preference counts from where the task waits next; until then it would stay on the event loop.
            await Task.yield()
            return try await body()
        }
    }

    /// Runs `body` where the caller is, or away from there when it is heavy.
    public static func run<R>(if isHeavy: Bool, _ body: () async throws -> R) async rethrows -> R {
        guard isHeavy else { return try await body() }
        return try await run(body)
    }
}
