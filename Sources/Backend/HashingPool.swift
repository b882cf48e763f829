import Foundation
import NIOCore
import ParseModel
import Postgres
import Synchronization

/// Threads that compute hashes of passwords, which take tens of milliseconds each by design, and the queue before them.
///
/// The queue is fair to its senders and bounded. What nobody waits for any more leaves it: its client has gone.
final class HashingPool: Sendable {
    private struct Job: Sendable {
        var run: @Sendable () -> Void
        var giveUp: @Sendable (any Error) -> Void
    }

    private struct State {
        var queue = FairQueue<Job>()
        var lastNumber = 0
        /// How many threads are at work.
        var working = 0
    }

    private let state = Mutex(State())
    private let threads: Int
    private let places: Int

    /// - Parameters:
    ///   - threads: How many hashes are computed at once; nil for the number of processors less one.
    ///   - places: How many may wait.
    init(threads: Int?, places: Int) {
        self.threads = threads ?? max(1, System.coreCount - 1)
        self.places = places
    }

    /// How many wait.
    var waiting: Int { state.withLock { $0.queue.count } }

    /// Computes something on a thread of the pool, when it is the sender's turn.
    ///
    /// - Parameter address: The IP address that the request comes from.
    /// - Throws: `ServiceUnavailable` when too much waits, `CancellationError` when the caller has left.
    func run<Value: Sendable>(from address: String, _ work: @escaping @Sendable () -> Value) async throws -> Value {
        let caller = CallerPresence.current
        let sender = FairQueue<Job>.Sender(
            address: Self.network(of: address), connection: caller.map { ObjectIdentifier($0) })
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let withdraw: @Sendable () -> Void = { [self] in
            let job = state.withLock { $0.queue.remove(number: number, of: sender) }
            job?.giveUp(CancellationError())
        }
        let registration = caller?.onLeaving(withdraw)
        defer { if let registration { caller?.forget(registration) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let job = Job(
                    run: { continuation.resume(returning: work()) }, giveUp: { continuation.resume(throwing: $0) })
                add(job, number: number, from: sender)
                // Whoever left before the job waited did not find it.
                if Task.isCancelled || caller?.hasLeft == true { withdraw() }
            }
        } onCancel: {
            withdraw()
        }
    }

    private func add(_ job: Job, number: Int, from sender: FairQueue<Job>.Sender) {
        let (refused, needsThread) = state.withLock { state -> (Job?, Bool) in
            var refused: Job?
            if state.queue.count >= places {
                // Who has most waiting makes room, so that nobody can fill the queue against others.
                refused = state.queue.removeLast(insteadOf: sender.address)
                if refused == nil { return (job, false) }
            }
            state.queue.append(job, number: number, from: sender)
            guard state.working < threads else { return (refused, false) }
            state.working += 1
            return (refused, true)
        }
        refused?.giveUp(ServiceUnavailable("Too many log-ins at a time. Please try again later."))
        // Threads end when there is no work: to make one takes a thousandth of the time of a hash.
        if needsThread { Thread.detachNewThread { [self] in work() } }
    }

    private func work() {
        #if os(Linux)
            // Requests of others come first. The system may refuse; then they do not.
            _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        #endif
        while let job = next() { job.run() }
    }

    private func next() -> Job? {
        state.withLock { state in
            if let job = state.queue.popFirst() { return job }
            state.working -= 1
            return nil
        }
    }

    /// What of an address names one sender: all of IPv4's, the first half of IPv6's, since whoever has one such address
    /// has all those of its network.
    static func network(of address: String) -> [UInt8] {
        guard address.utf8.contains(UInt8(ascii: ":")),
            case .v6(let socket)? = try? SocketAddress(ipAddress: address, port: 0)
        else { return Array(address.utf8) }
        let bytes = withUnsafeBytes(of: socket.address.sin6_addr) { Array($0) }
        let isVersion4 = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        guard isVersion4 else { return Array(bytes[..<8]) }
        return Array(bytes[12...].map(String.init).joined(separator: ".").utf8)
    }
}
