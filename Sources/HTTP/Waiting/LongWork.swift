import NIOCore
import NIOPosix

/// Threads for requests that take longer than an event loop may be kept from the others: those with large bodies.
///
/// The task of such a request runs on them instead of on the event loop of its connection, all through: reading the
/// body, checking it, making statements of it, and freeing it.
package final class LongWork: TaskExecutor {
    /// For bodies of usual size.
    package static let large = LongWork(threads: max(1, System.coreCount / 2))
    /// For bodies that take a thread for long: no other work waits behind them.
    package static let huge = LongWork(threads: 1)

    /// For backups, which read and write for minutes.
    package static let backups = LongWork(threads: 1)

    /// For changes that are compared with what clients of live queries want to know.
    package static let changes = LongWork(threads: max(2, System.coreCount / 2))

    /// For changes between processes: they do not wait behind the comparisons.
    package static let relay = LongWork(threads: 1)

    private let pool: NIOThreadPool

    /// How many threads there are.
    package let threadCount: Int

    private init(threads: Int) {
        threadCount = threads
        pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
    }

    /// Has the current task run there for the time of `body`.
    package func carryOut<R: Sendable>(_ body: () async throws -> R) async rethrows -> R {
        do {
            let result = try await withTaskExecutorPreference(self) {
                await changeThreads()
                return try await body()
            }
            await changeThreads()
            return result
        } catch {
            await changeThreads()
            throw error
        }
    }

    /// Goes on where the task prefers to run, which matters to a task only when it was suspended.
    private func changeThreads() async {
        await withCheckedContinuation { continuation in pool.submit { _ in continuation.resume() } }
    }

    /// Does one piece of work there.
    package func run<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            pool.submit { _ in continuation.resume(returning: work()) }
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { [self] _ in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
