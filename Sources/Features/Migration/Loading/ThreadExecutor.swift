import Logging
import NIOPosix
import ParseStorage

/// One thread, on which actors run that wait for disks or the database: what they hold is confined to it.
final class ThreadExecutor: SerialExecutor {
    private let pool = NIOThreadPool(numberOfThreads: 1)

    /// Starts the thread, which ends when the executor is released.
    init() { pool.start() }

    deinit { pool.shutdownGracefully { _ in } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { [self] _ in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}

/// A connection that lives as long as the import, and holds its lock, on a thread of its own.
actor ControlThread {
    private let executor = ThreadExecutor()
    private let connectionString: String
    private let logger: Logger
    private var storage: ImportStorage?

    private init(_ connectionString: String, _ logger: Logger) {
        self.connectionString = connectionString
        self.logger = logger
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Has a connection for as long as `body` runs; its end gives the lock back.
    static func hold<R: Sendable>(
        _ connectionString: String, logger: Logger, _ body: (ControlThread) async throws -> R
    ) async throws -> R {
        let thread = ControlThread(connectionString, logger)
        do {
            let result = try await body(thread)
            await thread.disconnect()
            return result
        } catch {
            await thread.disconnect()
            throw error
        }
    }

    /// Runs `body` on the thread, which connects when it is needed first.
    func run<R: Sendable>(_ body: @Sendable (ImportStorage) throws -> R) throws -> R {
        let connected = try storage ?? ImportStorage(connectionString: connectionString, logger: logger)
        storage = connected
        return try body(connected)
    }

    private func disconnect() { storage = nil }
}
