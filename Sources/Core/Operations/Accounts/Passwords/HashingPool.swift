import Limits
import NIOCore
import ParseModel
import Postgres
import Synchronization

/// A thread pool for password hashes, which take tens of milliseconds each by design.
///
/// Its queue is bounded and fair to senders. If the client disconnects, its queued work is removed.
package final class HashingPool<Input: Sendable, Output: Sendable>: Sendable {
    private struct Job: Sendable {
        var input: Input
        var continuation: CheckedContinuation<Output, any Error>
    }

    private struct State {
        var queue = FairQueue<Job>()
        var lastNumber = 0
        var working = 0
    }

    private let state = Mutex(State())
    private let threads: Int
    private let capacity: Int
    private let compute: @Sendable (Input) -> Output

    /// - Parameters:
    ///   - threads: The number of threads, or nil for one fewer than the processors.
    ///   - capacity: The maximum queue length.
    ///   - compute: Computes the output on a thread of the pool.
    package init(threads: Int?, capacity: Int, compute: @escaping @Sendable (Input) -> Output) {
        self.threads = threads ?? max(1, System.coreCount - 1)
        self.capacity = capacity
        self.compute = compute
    }

    package var waiting: Int { state.withLock { $0.queue.count } }

    /// Computes the output for an input when it is the sender's turn.
    ///
    /// - Parameter address: The IP address of the client.
    /// - Throws: `ServiceUnavailable` if the full queue drops the job, `CancellationError` if the caller leaves.
    package func run(from address: String, _ input: Input) async throws -> Output {
        let caller = CallerPresence.current
        let source = FairQueue<Job>.Source(Sender(address: address), caller.map { ObjectIdentifier($0) })
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let withdraw: @Sendable () -> Void = { [self] in
            let job = state.withLock { $0.queue.remove(number: number, of: source) }
            job?.continuation.resume(throwing: CancellationError())
        }
        let registration = caller?.onLeaving(withdraw)
        defer { if let registration { caller?.forget(registration) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(Job(input: input, continuation: continuation), number: number, from: source)
                // A caller that left before the job was queued could not withdraw it.
                if Task.isCancelled || caller?.hasLeft == true { withdraw() }
            }
        } onCancel: {
            withdraw()
        }
    }

    private func add(_ job: Job, number: Int, from source: FairQueue<Job>.Source) {
        let (refused, needsThread) = state.withLock { state -> (Job?, Bool) in
            var refused: Job?
            if state.queue.count >= capacity {
                // Drops a job of the busiest sender, so one sender can't keep others out by filling the queue.
                refused = state.queue.removeLast(insteadOf: source.sender)
                if refused == nil { return (job, false) }
            }
            state.queue.append(job, number: number, from: source)
            guard state.working < threads else { return (refused, false) }
            state.working += 1
            return (refused, true)
        }
        refused?.continuation.resume(
            throwing: ServiceUnavailable("Too many log-ins at once. Please try again later."))
        // Idle threads exit, because starting one costs only about a thousandth of a hash.
        if needsThread { OSThread { [self] in work() }.detach() }
    }

    private func work() {
        while let job = next() { job.continuation.resume(returning: compute(job.input)) }
    }

    private func next() -> Job? {
        state.withLock { state in
            let job = state.queue.popFirst()
            if job == nil { state.working -= 1 }
            return job
        }
    }
}
