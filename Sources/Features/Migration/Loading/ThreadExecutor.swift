import Limits
import Logging
import NIOPosix
import ParseStorage

/// A thread for actors that block on disks or on the database.
final class ThreadExecutor: SerialExecutor {
    private let pool = NIOThreadPool(numberOfThreads: 1)

    /// Starts the thread, which ends with the executor.
    init() { pool.start() }

    deinit { pool.shutdownGracefully { _ in } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { [self] _ in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}

/// A database connection on its own thread. Holds the import lock while the import runs.
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

    /// Runs `body` with a new thread and closes the thread's connection afterward, which releases the lock.
    static func hold<R: Sendable>(
        _ connectionString: String, logger: Logger, _ body: (ControlThread) async throws -> R
    ) async throws -> R {
        let thread = ControlThread(connectionString, logger)
        return try await withCleanup {
            try await body(thread)
        } cleanUp: {
            await thread.disconnect()
        }
    }

    /// Runs `body` on the thread. Connects on first use.
    func run<R: Sendable>(_ body: @Sendable (ImportStorage) throws -> R) throws -> R {
        let connected = try storage ?? ImportStorage(connectionString: connectionString, logger: logger)
        storage = connected
        return try body(connected)
    }

    private func disconnect() { storage = nil }
}
