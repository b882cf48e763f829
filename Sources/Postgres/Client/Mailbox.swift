import Synchronization

/// How callers reach the I/O thread: a list of commands, and a way to wake the thread where it sleeps.
final class Mailbox: Sendable {
    /// What the I/O thread is asked to do.
    enum Command: Sendable {
        /// Report how the first connection goes.
        case start(StartRequest)
        /// Send on any shared connection.
        case submit(Request)
        /// Lend an exclusive connection.
        case lease(LeaseRequest)
        /// Send on a lent connection.
        case submitLeased(Request, lease: Int)
        /// Stop a request on a lent connection.
        case cancel(Request, lease: Int)
        /// The server was told to stop what runs on a lent connection.
        case cancelSent(lease: Int)
        /// Take a lent connection back.
        case release(lease: Int, ReleaseRequest?)
        case listen(id: Int, channels: [EncodedStatement], AsyncStream<PostgresEvent>.Continuation)
        case unlisten(id: Int)
        case shutDown
    }

    private struct State {
        var commands: [Command] = []
        var isAsleep = false
        var attention = Attention()
        var isClosed = false
        var statistics = PostgresStatistics()
        var endWaiters: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let wakeUp = WakeUp()

    /// What the I/O thread polls, beside its sockets.
    var descriptor: Int32 { wakeUp.descriptor }

    /// Hands in a command; false when the thread has ended.
    func send(_ command: Command) -> Bool {
        let (isOpen, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.commands.append(command)
            guard state.isAsleep, state.attention.isDrawn(by: command) else { return (true, false) }
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
    func take(_ commands: inout [Command]) {
        commands.removeAll(keepingCapacity: true)
        state.withLock { swap(&$0.commands, &commands) }
    }

    /// Says that the thread goes to sleep, and what it wakes up for; false when there are commands.
    func fallAsleep(_ statistics: PostgresStatistics, _ attention: Attention) -> Bool {
        state.withLock { state in
            state.statistics = statistics
            state.attention = attention
            state.isAsleep = state.commands.isEmpty
            return state.isAsleep
        }
    }

    /// Says that the thread is awake, so that nobody wakes it any more.
    func awake(wasSignalled: Bool) {
        state.withLock { $0.isAsleep = false }
        if wasSignalled { wakeUp.clear() }
    }

    /// Takes no more commands, and gives back what nobody looked at.
    func close() -> [Command] {
        state.withLock { state in
            state.isClosed = true
            state.statistics = PostgresStatistics(reconnects: state.statistics.reconnects)
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Tells those who wait for the end.
    func reportEnd() {
        let waiters = state.withLock { state in
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// Somebody who waits for the first connection.
final class StartRequest: Sendable {
    let answer = Answer<Void>()
}

/// Somebody who waits until a lent connection is clean again.
final class ReleaseRequest: Sendable {
    let answer = Answer<Void>()
}

/// Somebody who wants a connection alone.
///
/// `@unchecked Sendable`: the deadline is touched by the I/O thread alone.
final class LeaseRequest: @unchecked Sendable {
    /// The lease's number comes here.
    let answer = Answer<Int>()
    /// What is sent before the first statement, in the same go.
    let prelude: EncodedStatement?
    /// Which connections it may get.
    let pool: ConnectionPool
    /// The row whose lock it waits for, where that is known: nobody else gets a connection for it meanwhile.
    let row: String?
    /// Until when it may have the connection; nil for as long as it likes.
    let end: Moment?
    /// Until when it waits for a connection.
    var deadline: Moment?

    init(pool: ConnectionPool, prelude: EncodedStatement? = nil, row: String? = nil, end: Moment? = nil) {
        self.pool = pool
        self.prelude = prelude
        self.row = row
        self.end = end
    }
}
