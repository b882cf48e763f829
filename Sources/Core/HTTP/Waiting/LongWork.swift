import Limits
import NIOCore
import NIOPosix
import Synchronization

/// Threads for work that would block an event loop for too long, such as requests with large bodies.
///
/// The whole task of such a request runs here instead of on its connection's event loop: reading, checking and freeing
/// the body, and building statements from it. The server's own work runs first, then that of the sender that has used
/// the least time.
package final class LongWork: TaskExecutor {
    /// The threads for bodies of up to 128 KB, and for work of similar cost.
    package static let medium = LongWork(threads: max(1, System.coreCount / 2))
    /// The thread for bodies of 128 KB to 1 MB.
    package static let large = LongWork(threads: 1)
    /// The thread for bodies of 1 to 4 MB.
    package static let huge = LongWork(threads: 1)
    /// The thread for bodies of 4 MB and more.
    package static let giant = LongWork(threads: 1)

    /// The thread for the console's backups, which read and write for minutes.
    package static let backups = LongWork(threads: 1)

    /// The threads for matching changes with live queries.
    package static let changes = LongWork(threads: max(2, System.coreCount / 2))

    /// The thread for exchanging changes between processes, which must not wait behind the matching.
    package static let relay = LongWork(threads: 1)

    private struct Line {
        var waiting = SenderQueue<@Sendable () -> Void>()
        var spent = SpentTime()

        mutating func next() -> (work: @Sendable () -> Void, sender: Sender)? {
            let spent = spent
            let next = waiting.popFirst(by: { $0 == .server ? .zero : spent[$0] + .nanoseconds(1) })
            guard let next else { return nil }
            if next.sender != .server { self.spent.admit(next.sender) }
            return (next.element, next.sender)
        }
    }

    private let line = Mutex(Line())
    private let pool: NIOThreadPool

    package let threadCount: Int

    private init(threads: Int) {
        threadCount = threads
        pool = NIOThreadPool(numberOfThreads: threads)
        pool.start()
    }

    /// Runs `body` in the current task on these threads.
    package func carryOut<R: Sendable>(_ body: () async throws -> R) async rethrows -> R {
        do {
            let result = try await withTaskExecutorPreference(executor(for: .current)) {
                // The executor preference takes effect at the task's next suspension.
                await Task.yield()
                return try await body()
            }
            await Task.yield()
            return result
        } catch {
            await Task.yield()
            throw error
        }
    }

    /// Returns an executor that runs the work of one sender on these threads.
    package func executor(for sender: Sender) -> any TaskExecutor {
        sender == .server ? self : SenderExecutor(threads: self, sender: sender)
    }

    /// Runs one function on these threads.
    package func run<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            submit(of: .current) { continuation.resume(returning: work()) }
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit(of: .server) { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    fileprivate func submit(of sender: Sender, _ work: @escaping @Sendable () -> Void) {
        line.withLock { _ = $0.waiting.append(work, of: sender) }
        pool.submit { [self] _ in runNext() }
    }

    private func runNext() {
        guard let (work, sender) = line.withLock({ $0.next() }) else { return }
        let begin = ContinuousClock.now
        work()
        let time = ContinuousClock.now - begin
        if sender != .server { line.withLock { $0.spent.add(time, to: sender) } }
    }
}

/// An executor that runs one sender's work on shared threads, in turn with that of other senders.
private final class SenderExecutor: TaskExecutor {
    private let threads: LongWork
    private let sender: Sender

    init(threads: LongWork, sender: Sender) {
        self.threads = threads
        self.sender = sender
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit(of: sender) { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
