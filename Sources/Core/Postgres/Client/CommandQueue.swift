import Synchronization
import Tasks

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The commands of callers to the I/O thread, with a way to wake the thread from its sleep.
package final class CommandQueue: Sendable {
    /// What the I/O thread is asked to do.
    package enum Command: Sendable {
        /// Report how the first connection goes.
        case start(WaitRequest)
        /// Send on any shared connection.
        case submit(Request)
        /// Lend an exclusive connection.
        case lease(LeaseRequest)
        /// The caller of a lease waits no longer.
        case abandon(LeaseRequest)
        /// Send on a lent connection.
        case submitLeased(Request, lease: Int)
        /// Stop a request on a lent connection.
        case cancel(Request, lease: Int)
        /// The server was asked to cancel what runs on a connection.
        case cancelSent(ServerCancellations.Target, lease: Int)
        /// Take a lent connection back.
        case release(lease: Int, WaitRequest?)
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
        var endWaiters: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let wakeUp = WakeUp()

    package init() {}

    /// What the I/O thread polls, beside its sockets.
    package var descriptor: Int32 { wakeUp.descriptor }

    /// Hands in a command; false when the thread has ended.
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

    /// How the client stood when the I/O thread last went to sleep, and what was handed in since.
    var statistics: PostgresStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.waiting += state.commands.count
            return statistics
        }
    }

    /// Waits until the I/O thread has done all its work.
    func waitForEnd() async {
        await withUnsafeContinuation { continuation in
            let isClosed = state.withLock { state in
                if !state.isClosed { state.endWaiters.append(continuation) }
                return state.isClosed
            }
            if isClosed { continuation.resume() }
        }
    }

    // MARK: The I/O thread's side

    /// Exchanges the commands for an empty list, whose storage is used again.
    package func take(_ commands: inout [Command]) {
        commands.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.commands, &commands) }
    }

    /// Says that the thread goes to sleep, and what it wakes up for; false when there are commands.
    package func fallAsleep(_ statistics: PostgresStatistics, _ wakeCondition: WakeCondition) -> Bool {
        state.withLock { state in
            state.statistics = statistics
            state.wakeCondition = wakeCondition
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
    }

    /// Says that the thread is awake, so that no command wakes it any more.
    func awake(wasSignalled: Bool) {
        state.withLock { $0.isAsleep = false }
        if wasSignalled { wakeUp.clear() }
    }

    /// Takes no more commands, and gives back the commands that the thread did not take.
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

    /// Resumes the tasks that wait for the end.
    func reportEnd() {
        let waiters = state.withLock { state in
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// A task that waits for the first connection, or until a lent one is clean again.
package final class WaitRequest: Sendable {
    let promise = OneShotPromise<Void>()
}

/// A task that wants a connection of its own.
///
/// `@unchecked Sendable`: what changes is touched by the I/O thread alone.
package final class LeaseRequest: @unchecked Sendable {
    /// Gives the lease's number.
    package let promise = OneShotPromise<Int>()
    /// What is sent before the first statement, in the same go.
    let prelude: EncodedStatement?
    let purpose: PoolPurpose
    /// A name for what it locks first, where that is known: no other request with that name gets a connection
    /// meanwhile.
    let conflictKey: ConflictKey?
    /// Until when it may have the connection; nil for as long as it likes.
    let end: MonotonicInstant?
    /// On whose behalf: the queue is fair to senders.
    let sender = Sender.current
    /// The time since which it has waited for a connection.
    var arrival: MonotonicInstant?
    /// Until when it waits for a connection.
    var deadline: MonotonicInstant?
    /// Its place in the queue, while it has one.
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

/// Which requests the I/O thread wakes up for.
///
/// A request that nothing can be done about before an answer comes may lie until then: the answer wakes the thread, and
/// it finds all that came meanwhile. To wake a thread costs both sides more than to hand in a request.
package struct WakeCondition {
    /// Whether requests that only read can be sent.
    package var reads = true
    /// Whether reads that may take long can be sent.
    package var searches = true
    /// Whether requests that change one row each can be sent.
    package var changes = true

    package init(reads: Bool = true, searches: Bool = true, changes: Bool = true) {
        self.reads = reads
        self.searches = searches
        self.changes = changes
    }

    /// Whether to wake up, now that a command was handed in.
    package func isMet(by command: CommandQueue.Command) -> Bool {
        guard case .submit(let request) = command else { return true }
        if request.isReadOnly { return request.isSearch ? searches || request.isUnknown : reads }
        return request.sharesTransaction ? changes : true
    }
}

/// What gets a thread out of `poll`: a pipe, as every system has it.
final class WakeUp: Sendable {
    /// What to poll for reading; -1 when the system gave no pipe.
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
        // A full pipe is as good: it is readable.
        _ = write(writer, &byte, 1)
    }

    /// Makes the descriptor unreadable again.
    func clear() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
