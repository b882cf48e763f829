import CLibpq
import DequeModule

/// One connection in pipeline mode. It lives on the I/O thread, as does everything of libpq's that it holds.
package final class Connection {
    package enum State {
        /// Closed; ``open()`` makes it anew.
        case closed
        /// Being made; poll for what libpq waits for.
        case connecting(PostgresPollingStatusType)
        /// Asking the server what has to be known, or set, before requests are taken.
        case greeting
        /// Taking requests.
        case ready
    }

    /// What runs outside of pipeline mode.
    enum ScriptPhase { case running, rollingBack, resetting }

    let context: LoopContext
    let parameters: ConnectionParameters
    // The pool owns its connections and outlives them.
    unowned let pool: any ConnectionPool
    package var state = State.closed
    /// libpq's connection; only this object frees it.
    var handle: OpaquePointer?
    package var inFlight = Pipeline()
    /// When something came from the server last.
    var lastSign = MonotonicInstant.now
    var cache: StatementCache
    var sequence: UInt64 = 0
    var scriptPhase: ScriptPhase?
    /// Whether libpq may hold bytes that were not written yet.
    var needsFlush = false
    /// Whether the socket was full, so that one has to poll for writing.
    var isBlocked = false
    /// What the result that comes takes in memory.
    var watch = ResultWatch()
    var resultsTaken = 0
    /// Whether the server was asked to cancel the first of those under way, since its result is too large.
    var isOutgrown = false
    /// Whether libpq keeps a buffer for it that has become large, as it does until the connection is closed.
    var isSwollen = false
    /// Whether it was closed because the server stopped responding.
    private(set) var wasSilent = false
    /// When the server was last asked to cancel something: it may be late, and cancel what comes after.
    package var stoppedAt: MonotonicInstant?
    /// Whether it was opened without the server's options, which a pooler refuses, or forgets.
    var isWithoutOptions = false
    /// Whether a transaction began with what comes before the path, and the next request sets that.
    var owesPath = false
    /// What is asked and set before requests are taken, in order.
    var greetings: Deque<Greeting> = []
    /// Why it can no longer be used; it is cleared away when no function is in the middle of using it.
    var failure: PostgresError?
    var openedAt = MonotonicInstant.now
    /// When its pool opens it again, and how long it waits then.
    package var reopening: MonotonicInstant?
    var backOff = BackOff()
    // Arrays that libpq reads from, used again for each statement.
    var pointers: [UnsafePointer<CChar>?] = []
    var lengths: [Int32] = []
    var formats: [Int32] = []
    var types: [UInt32] = []

    package init(_ context: LoopContext, pool: any ConnectionPool, _ parameters: ConnectionParameters) {
        self.context = context
        self.parameters = parameters
        self.pool = pool
        cache = StatementCache(limit: context.configuration.preparedStatementLimit)
    }

    deinit { PQfinish(handle) }

    var isReady: Bool { if case .ready = state { failure == nil } else { false } }
    /// Whether it leads to a server that takes no writes any more, and is to be made anew.
    var isOutdated: Bool { context.renewal.concerns(openedAt: openedAt) }
    /// Whether requests of any kind can be sent on it.
    var takesRequests: Bool { isReady && !isOutdated }
    /// Whether one more read can share the sync of those that were sent just now.
    func takesRead(isSearch: Bool) -> Bool { failure == nil && inFlight.takesRead(isSearch: isSearch) }
    /// When what is under way is to be stopped, and carried out elsewhere; nil for never.
    var patienceEnd: MonotonicInstant? { inFlight.patienceEnd(stoppedAt: stoppedAt) }
    var socket: Int32 { handle == nil ? -1 : PQsocket(handle) }

    /// Whether a transaction is open, or was broken off by an error. It is only known while nothing is under way.
    var isInTransaction: Bool {
        let status = PQtransactionStatus(handle)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    var interest: (reading: Bool, writing: Bool) {
        switch state {
        case .closed: (false, false)
        case .connecting(let status): (status == PGRES_POLLING_READING, status != PGRES_POLLING_READING)
        case .greeting, .ready: (true, isBlocked)
        }
    }

    /// When an attempt to connect has taken too long, or the server has been silent for longer than what it was asked
    /// may take.
    var deadline: MonotonicInstant? {
        switch state {
        case .closed: nil
        case .connecting, .greeting: openedAt.after(context.configuration.connectTimeout)
        case .ready:
            inFlight.first.flatMap { parameters.longestSilence(before: $0) }
                .map { max(inFlight.headSince, lastSign).after($0) }
        }
    }

    func open() {
        openedAt = context.now
        wasSilent = false
        start()
    }

    private func start() {
        isWithoutOptions = parameters.isPathTransient || context.refusingOptions.contains(parameters.address)
        handle = parameters.start(
            withoutOptions: isWithoutOptions, avoiding: context.timelines.avoided(at: context.now))
        guard let handle, PQstatus(handle) != CONNECTION_BAD else {
            // Through connecting, so that a broken connection looks the same whenever it broke.
            state = .connecting(PGRES_POLLING_FAILED)
            return fail(.unavailable(libpqMessage))
        }
        context.notices.receive(from: handle)
        // Only verbose messages contain the SQLSTATE of why a connection was refused.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        state = .connecting(PGRES_POLLING_WRITING)
    }

    /// Does what the socket is ready for.
    func proceed(reading: Bool, writing: Bool) {
        switch state {
        case .closed: break
        case .connecting: connect()
        case .ready, .greeting:
            if writing { needsFlush = true }
            if reading { receive() }
        }
    }

    private func connect() {
        switch PQconnectPoll(handle) {
        case PGRES_POLLING_OK:
            guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
                return fail(.unavailable("libpq has no pipeline mode: version 14 or later is needed"))
            }
            PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            greet()
        case PGRES_POLLING_FAILED:
            let reason = PostgresError.unavailable(libpqMessage)
            guard reason.isRefusedParameter, !isWithoutOptions, parameters.settings != nil else { return fail(reason) }
            noteRefusedOptions()
        case let status: state = .connecting(status)
        }
    }

    /// Reconnects without the server options, which a pooler rejects. Sessions set them instead.
    private func noteRefusedOptions() {
        if context.refusingOptions.insert(parameters.address).inserted {
            context.logger.info("pooler rejects the parameter options, using SET in each session instead")
        }
        PQfinish(handle)
        start()
    }

    func beginTakingRequests() {
        state = .ready
        pool.didConnect(self)
    }

    /// Gives up an attempt that takes too long, and a connection whose server is frozen or can no longer be heard.
    func checkDeadline() {
        guard let deadline, deadline <= context.now else { return }
        wasSilent = isReady
        fail(
            isReady
                ? PostgresError(.connectionLost, "the connection was lost: PostgreSQL did not respond in time")
                : PostgresError(.unavailable, "PostgreSQL did not respond in time"))
    }

    /// Looks whether a request failed because the server takes no writes, which another server may do.
    func noteError(_ error: PostgresError) {
        guard error.isFromReadOnlyServer, !context.configuration.onlyReads,
            context.renewal.noteRefusal(openedAt: openedAt, at: context.now)
        else {
            return
        }
        context.logger.warning("PostgreSQL became read-only, reconnecting")
    }

    /// Marks the connection as broken. The first reason is the one that counts.
    func fail(_ reason: PostgresError) {
        guard failure == nil else { return }
        failure = reason
        context.hasBroken = true
    }

    /// Marks the connection as broken for what libpq says.
    func failWithLibpqMessage() {
        fail(PostgresError(.connectionLost, "the connection was lost: \(libpqMessage)"))
    }

    private var libpqMessage: String { PQerrorMessage(handle).map { String(cString: $0).trimmed } ?? "out of memory" }

    /// Closes a broken connection and reports to the pool what was lost.
    func clearAway(because reason: PostgresError) {
        let lost = Array(inFlight.requests)
        if !context.isStopping { context.breaks += 1 }
        close()
        pool.didBreak(self, losing: lost, because: reason)
    }

    func close() {
        PQfinish(handle)
        handle = nil
        state = .closed
        failure = nil
        inFlight = Pipeline()
        greetings.removeAll()
        cache.removeAll()
        scriptPhase = nil
        owesPath = false
        needsFlush = false
        isBlocked = false
        watch = ResultWatch()
        isOutgrown = false
        isSwollen = false
        stoppedAt = nil
    }

    /// From how many bytes of a message on a connection is closed and made anew once it is idle, for its buffer.
    static let largeMessage = 1024 * 1024
}
