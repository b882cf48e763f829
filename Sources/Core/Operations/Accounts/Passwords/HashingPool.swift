import NIOCore
import ParseModel
import Postgres
import Synchronization
import Tasks

/// Threads that compute hashes of passwords, which take tens of milliseconds each by design, and the queue before them.
///
/// The queue is fair to its senders and bounded. Work without a waiting caller leaves it: its client has gone.
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
    ///   - threads: How many compute at once; nil for the number of processors less one.
    ///   - capacity: How many inputs may wait.
    ///   - compute: What a thread does with an input.
    package init(threads: Int?, capacity: Int, compute: @escaping @Sendable (Input) -> Output) {
        self.threads = threads ?? max(1, System.coreCount - 1)
        self.capacity = capacity
        self.compute = compute
    }

    package var waiting: Int { state.withLock { $0.queue.count } }

    /// Has the output for an input computed on a thread of the pool, when it is the sender's turn.
    ///
    /// - Parameter address: The IP address that the request comes from.
    /// - Throws: `ServiceUnavailable` when too much waits, `CancellationError` when the caller has left.
    package func run(from address: String, _ input: Input) async throws -> Output {
        let caller = CallerPresence.current
        let sender = FairQueue<Job>.Sender(
            address: Sender.network(of: address), connection: caller.map { ObjectIdentifier($0) })
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let withdraw: @Sendable () -> Void = { [self] in
            let job = state.withLock { $0.queue.remove(number: number, of: sender) }
            job?.continuation.resume(throwing: CancellationError())
        }
        let registration = caller?.onLeaving(withdraw)
        defer { if let registration { caller?.forget(registration) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(Job(input: input, continuation: continuation), number: number, from: sender)
                // A caller that left before the job waited did not find it.
                if Task.isCancelled || caller?.hasLeft == true { withdraw() }
            }
        } onCancel: {
            withdraw()
        }
    }

    private func add(_ job: Job, number: Int, from sender: FairQueue<Job>.Sender) {
        let (refused, needsThread) = state.withLock { state -> (Job?, Bool) in
            var refused: Job?
            if state.queue.count >= capacity {
                // Who has most waiting makes room, so that no sender can fill the queue against others.
                refused = state.queue.removeLast(insteadOf: sender.address)
                if refused == nil { return (job, false) }
            }
            state.queue.append(job, number: number, from: sender)
            guard state.working < threads else { return (refused, false) }
            state.working += 1
            return (refused, true)
        }
        refused?.continuation.resume(
            throwing: ServiceUnavailable("Too many log-ins at a time. Please try again later."))
        // Threads end when there is no work: to make one takes a thousandth of the time of a hash.
        if needsThread { OSThread { [self] in work() }.detach() }
    }

    private func work() {
        while let job = next() { job.continuation.resume(returning: compute(job.input)) }
    }

    /// The job that has waited longest, or nil, which ends a worker thread.
    private func next() -> Job? {
        state.withLock { state in
            let job = state.queue.popFirst()
            if job == nil { state.working -= 1 }
            return job
        }
    }
}
