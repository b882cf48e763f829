import NIOPosix

/// One thread, on which actors run that wait for disks or the database: what they hold is confined to it.
final class ThreadExecutor: SerialExecutor {
    private let pool = NIOThreadPool(numberOfThreads: 1)

    /// Starts the thread, which ends when nobody has the executor any more.
    init() { pool.start() }

    deinit { pool.shutdownGracefully { _ in } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { [self] _ in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}
