import Logging
import NIOPosix
import ParseStorage
import Synchronization

/// A thread with a connection that lives as long as the import, and holds its lock.
final class ControlThread: Sendable {
    /// `@unchecked Sendable`: only the one thread touches it.
    private final class Holder: @unchecked Sendable {
        var storage: ImportStorage?
    }

    private let pool = NIOThreadPool(numberOfThreads: 1)
    private let holder = Holder()
    private let connectionString: String
    private let logger: Logger

    init(_ connectionString: String, logger: Logger) throws {
        self.connectionString = connectionString
        self.logger = logger
        pool.start()
    }

    /// Runs `body` on the thread.
    func run<R: Sendable>(_ body: @escaping @Sendable (ImportStorage) throws -> R) async throws -> R {
        try await pool.runIfActive { [holder, connectionString, logger] in
            let storage = try holder.storage ?? ImportStorage(connectionString: connectionString, logger: logger)
            holder.storage = storage
            return try body(storage)
        }
    }

    /// Ends the thread and its connection, which gives the lock back.
    func end() {
        pool.submit { [holder] _ in holder.storage = nil }
        pool.shutdownGracefully { _ in }
    }
}
