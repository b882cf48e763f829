import Synchronization

/// Moves work of more than a millisecond of CPU time off the event loop, where it would delay the loop's other clients.
///
/// Uses threads set by the server, whose event loops also serve as Swift's global executor.
public enum HeavyWork {
    private static let named = Mutex<(@Sendable (Sender) -> any TaskExecutor)?>(nil)

    /// The executor for the current sender's work. By default Swift's global executor.
    public static var executor: any TaskExecutor {
        named.withLock { $0 }?(.current) ?? globalConcurrentExecutor
    }

    /// Sets the executor, which may differ by sender.
    public static func use(_ executor: @escaping @Sendable (Sender) -> any TaskExecutor) {
        named.withLock { $0 = executor }
    }

    /// The size in bytes from which requests and query results are parsed off the event loop.
    public static let size = 16 * 1024
    /// The size in bytes above which results are written off the event loop. Writing is faster than parsing.
    public static let answerSize = 256 * 1024

    /// The gate that limits the bytes parsed into values at a time, for all senders together. The values take up
    /// many times as much memory as the bytes.
    private static let valueBudget = Gate(capacity: 4 * 1024 * 1024)

    /// Runs `body`, which parses bytes into values. Large inputs are parsed off the event loop, in a queue that is fair
    /// to senders.
    ///
    /// - Parameter bytes: The size of the input in bytes.
    /// - Throws: The errors of `body`, or `CancellationError` if the task is cancelled while waiting.
    public static func makeValues<R>(of bytes: Int, _ body: () throws -> R) async throws -> R {
        guard bytes > size else { return try body() }
        do {
            try await valueBudget.enter(weight: bytes)
        } catch is CancellationError where !Task.isCancelled {
            // The caller has disconnected, but its request must be completed. It skips the queue.
            return try await run { try body() }
        }
        defer { valueBudget.leave(weight: bytes) }
        return try await run { try body() }
    }

    /// Runs `body` off the caller's event loop and returns to it afterward.
    public static func run<R>(_ body: () async throws -> R) async rethrows -> R {
        try await withTaskExecutorPreference(executor) {
            // The preference takes effect at the next suspension.
            await Task.yield()
            return try await body()
        }
    }

    /// Runs `body` off the event loop if it is slow, and otherwise on the caller's executor.
    public static func run<R>(_ cost: Cost, _ body: () async throws -> R) async rethrows -> R {
        guard cost.isSlow else { return try await body() }
        return try await run(body)
    }
}

/// The cost of a read or of other work on bytes, either expected beforehand or measured afterward.
public struct Cost: Sendable {
    /// The size in bytes, or 0 if it is unknown.
    public var bytes: Int
    /// Whether the work takes too long for an event loop, or for a database connection that fast reads share.
    public var isSlow: Bool

    public init(bytes: Int = 0, isSlow: Bool = false) {
        self.bytes = bytes
        self.isSlow = isSlow
    }

    /// The cost of parsing requests and query results into values.
    public static func parsing(_ bytes: Int) -> Cost { Cost(bytes: bytes, isSlow: bytes > HeavyWork.size) }

    /// The cost of writing results, which is faster than parsing.
    public static func writing(_ bytes: Int) -> Cost { Cost(bytes: bytes, isSlow: bytes > HeavyWork.answerSize) }
}
