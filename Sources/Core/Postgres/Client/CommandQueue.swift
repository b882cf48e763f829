import Limits
import Platform
import Synchronization

/// Commands from callers to the I/O thread, with a way to wake it.
package final class CommandQueue: Sendable {
    package enum Command: Sendable {
        /// Report when the first connection is ready.
        case start(WaitRequest)
        /// Send a request on any shared connection.
        case submit(Request)
        /// Lend an exclusive connection.
        case lease(LeaseRequest)
        /// Remove a lease request whose caller no longer waits.
        case abandon(LeaseRequest)
        /// Send a request on a lent connection.
        case submitLeased(Request, Lease)
        /// Stop a request on a lent connection.
        case cancel(Request, Lease)
        /// Continue after a cancel request was sent to the server or failed.
        case cancelSent(ServerCancellations.Target, Lease?)
        /// Return a lent connection to its pool.
        case release(Lease, WaitRequest?)
        case listen(id: Int, channels: [EncodedStatement], EventBuffer)
        case unlisten(id: Int)
        case shutDown
    }

    private struct State {
        var commands: [Command] = []
        var isAsleep = false
        var wakeCondition = WakeCondition()
        var isClosed = false
        var statistics = PostgresStatistics()
    }

    private let state = Mutex(State())
    private let wakeUp = WakeUp()
    /// Set when the I/O thread has ended or can no longer start.
    let end = OneTime<Void>()

    package init() {}

    /// The file descriptor that the I/O thread polls for wake-ups.
    package var descriptor: Int32 { wakeUp.descriptor }

    /// Enqueues a command. Returns false if the thread has ended.
    package func send(_ command: Command) -> Bool {
        let (isOpen, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.commands.append(command)
            guard state.isAsleep, state.wakeCondition.isMet(by: command) else { return (true, false) }
            state.isAsleep = false
            return (true, true)
        }
        if mustWake { wakeUp.signal() }
        return isOpen
    }

    /// The statistics from the I/O thread's last round, plus the commands that it hasn't taken yet.
    var statistics: PostgresStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.commands = state.commands.count
            return statistics
        }
    }

    // MARK: For the I/O thread

    /// Replaces the contents of `commands` with the enqueued commands. The queue reuses the old storage.
    package func drain(_ commands: inout [Command]) {
        commands.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.commands, &commands) }
    }

    /// Marks the thread as asleep. Returns false if commands are waiting and the thread must stay awake.
    ///
    /// - Parameter statistics: Swapped with the earlier ones, whose storage is reused.
    package func fallAsleep(_ statistics: inout PostgresStatistics, _ wakeCondition: WakeCondition) -> Bool {
        state.withLock { state in
            swap(&state.statistics, &statistics)
            state.wakeCondition = wakeCondition
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
    }

    /// Marks the thread as awake, so that commands don't signal it.
    func awake(wasSignalled: Bool) {
        state.withLock { $0.isAsleep = false }
        if wasSignalled { wakeUp.clear() }
    }

    /// Closes the queue. Returns the commands that the thread did not take.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            let reconnects = state.statistics.reconnects
            state.statistics = PostgresStatistics()
            state.statistics.reconnects = reconnects
            defer { state.commands = [] }
            return state.commands
        }
    }
}

/// A task that waits for the first connection, or until a returned connection is clean.
package final class WaitRequest: Sendable {
    let promise = OneShotPromise<Void>()
}

/// A task that waits for an exclusive connection.
///
/// `@unchecked Sendable`: only the I/O thread uses the mutable properties.
package final class LeaseRequest: @unchecked Sendable {
    package let promise = OneShotPromise<Lease>()
    /// A statement to send together with the caller's first one, or nil for none.
    let prelude: EncodedStatement?
    let purpose: PoolPurpose
    /// A key for the row that the caller locks first, or nil if unknown. One request per key gets a connection at a
    /// time.
    let conflictKey: ConflictKey?
    /// The time at which the lease expires, or nil if it doesn't.
    let end: MonotonicInstant?
    /// The sender, for fair queueing.
    let sender = Sender.current
    /// The time at which the request was enqueued.
    var arrival: MonotonicInstant?
    /// The time at which the request fails if it has no connection by then.
    var deadline: MonotonicInstant?
    /// The position in the queue for connections, or nil if the request waits for a row or no longer waits.
    var ticket: SenderQueue<LeaseRequest>.Ticket?

    package init(
        purpose: PoolPurpose, prelude: EncodedStatement? = nil, conflictKey: ConflictKey? = nil,
        end: MonotonicInstant? = nil
    ) {
        self.purpose = purpose
        self.prelude = prelude
        self.conflictKey = conflictKey
        self.end = end
    }
}

/// The kinds of requests that wake the I/O thread.
///
/// A request that can't be sent before the next response waits for that response, which wakes the thread anyway. Waking
/// a thread costs more than enqueueing a request.
package struct WakeCondition {
    /// Whether reads can be sent.
    package var reads = true
    /// Whether reads that may take long can be sent.
    package var searches = true
    /// Whether single-row changes can be sent.
    package var changes = true

    package init(reads: Bool = true, searches: Bool = true, changes: Bool = true) {
        self.reads = reads
        self.searches = searches
        self.changes = changes
    }

    /// Whether a new command must wake the thread.
    package func isMet(by command: CommandQueue.Command) -> Bool {
        guard case .submit(let request) = command else { return true }
        if request.isReadOnly { return request.isSearch ? searches || request.isUnknown : reads }
        return request.sharesTransaction ? changes : true
    }
}

/// Wakes a thread that blocks in `poll`, by means of a pipe.
final class WakeUp: Sendable {
    /// The file descriptor to poll for reading, or -1 if the system provided no pipe.
    let descriptor: Int32
    private let writer: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
        }
        (descriptor, writer) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writer)
    }

    /// Makes the descriptor readable.
    func signal() {
        var byte: UInt8 = 1
        // If the pipe is full, the descriptor is readable anyway.
        _ = write(writer, &byte, 1)
    }

    /// Makes the descriptor unreadable again.
    func clear() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
