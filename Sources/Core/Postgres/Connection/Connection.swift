import CLibpq
import DequeModule

/// A connection in pipeline mode, except during scripts. It and its libpq connection are used only on the I/O thread.
package final class Connection {
    package enum State {
        /// Closed. ``open()`` connects again.
        case closed
        /// Connecting. The status shows what libpq waits for.
        case connecting(PostgresPollingStatusType)
        /// Running the statements that come before the first request.
        case greeting
        case ready
    }

    /// The phase of a script, which runs outside pipeline mode.
    enum ScriptPhase { case running, rollingBack, resetting }

    let context: LoopContext
    let parameters: ConnectionParameters
    // The pool owns its connections and outlives them.
    unowned let pool: any ConnectionPool
    package var state = State.closed
    /// libpq's connection, freed only by this object.
    var handle: OpaquePointer?
    package var inFlight = Pipeline()
    /// The time at which the server last sent something.
    var lastSign = MonotonicInstant.now
    var cache: StatementCache
    var sequence: UInt64 = 0
    var scriptPhase: ScriptPhase?
    /// Whether ``flush()`` is due: libpq may hold unsent bytes, or a batch of reads still needs its sync.
    var needsFlush = false
    /// Whether the socket's send buffer is full, so that the loop must poll for writing.
    var isBlocked = false
    /// The estimated memory use of the incoming result.
    var watch = ResultWatch()
    var resultsReceived = 0
    /// Whether the incoming result was reported to the pool as too large.
    var isOutgrown = false
    /// Whether libpq may have allocated a large buffer, which it keeps until the connection is closed.
    var isSwollen = false
    /// Whether the connection was closed because the server stopped responding.
    private(set) var wasSilent = false
    /// The time at which a request was last stopped on this connection, or nil if none was. Its cancel request can
    /// arrive late and hit a later statement.
    package var stoppedAt: MonotonicInstant?
    /// Whether the server options don't apply to the session, because a pooler rejects or ignores them.
    var isWithoutOptions = false
    /// Whether the transaction began with a statement that must come first. If so, the next request sets the search
    /// path.
    var owesPath = false
    /// The remaining statements before the first request, in order.
    var greetings: Deque<Greeting> = []
    /// The error that broke the connection. The I/O loop cleans the connection up later, when no function is using it.
    var failure: PostgresError?
    var openedAt = MonotonicInstant.now
    /// The time at which the pool reopens the connection, or nil if that isn't planned.
    package var reopening: MonotonicInstant?
    var backOff = BackOff()
    // Arrays that libpq reads from, reused for each statement.
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
    /// Whether a server became read-only after this connection was opened, so that it must be reopened.
    var isOutdated: Bool { context.renewal.concerns(openedAt: openedAt) }
    /// Whether the connection can take new requests.
    var takesRequests: Bool { isReady && !isOutdated }
    /// Whether one more read can join the open batch.
    func takesRead(isSearch: Bool) -> Bool { failure == nil && inFlight.takesRead(isSearch: isSearch) }
    /// The time at which the first request in flight is stopped, or nil if it has no such limit.
    var patienceEnd: MonotonicInstant? { inFlight.patienceEnd(stoppedAt: stoppedAt) }
    var socket: Int32 { handle == nil ? -1 : PQsocket(handle) }

    /// Whether a transaction is open or has failed. Known only while no request is in flight.
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

    /// The time at which connecting, or the wait for the next response, times out.
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
            // Treats this like a connection that breaks while connecting.
            state = .connecting(PGRES_POLLING_FAILED)
            return fail(.unavailable(libpqMessage))
        }
        context.notices.receive(from: handle)
        // Only verbose messages contain the SQLSTATE of a refused connection.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        state = .connecting(PGRES_POLLING_WRITING)
    }

    /// Continues to connect, receives or schedules a flush, depending on the state and what the socket is ready for.
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
                return fail(.unavailable("libpq is too old. Install version 14 or later"))
            }
            PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            greet()
        case PGRES_POLLING_FAILED:
            let reason = PostgresError.unavailable(libpqMessage)
            guard reason.isRefusedParameter, !isWithoutOptions, parameters.settings != nil else { return fail(reason) }
            reconnectWithoutOptions()
        case let status: state = .connecting(status)
        }
    }

    /// Reconnects without the server options, which a pooler rejects. Sessions set them instead.
    private func reconnectWithoutOptions() {
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

    /// Marks the connection as broken if connecting timed out or the server stopped responding.
    func checkDeadline() {
        guard let deadline, deadline <= context.now else { return }
        wasSilent = isReady
        fail(
            isReady
                ? PostgresError(.connectionLost, "the connection was lost: PostgreSQL did not respond in time")
                : PostgresError(.unavailable, "PostgreSQL did not respond in time"))
    }

    /// Handles a request's error. If the server has become read-only, the pools reopen their connections to find a
    /// server that accepts writes, unless they did so recently or the client only reads.
    func handleError(_ error: PostgresError) {
        guard error.isFromReadOnlyServer, !context.configuration.onlyReads,
            context.renewal.recordRefusal(openedAt: openedAt, at: context.now)
        else {
            return
        }
        context.logger.warning("PostgreSQL became read-only, reconnecting")
    }

    /// Marks the connection as broken. Only the first error counts.
    func fail(_ reason: PostgresError) {
        guard failure == nil else { return }
        failure = reason
        context.hasBroken = true
    }

    func failWithLibpqMessage() {
        fail(PostgresError(.connectionLost, "the connection was lost: \(libpqMessage)"))
    }

    private var libpqMessage: String { PQerrorMessage(handle).map { String(cString: $0).trimmed } ?? "out of memory" }

    /// Closes a broken connection and reports the lost requests to the pool.
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

    /// The message size in bytes above which libpq's buffer is freed when idle, and writes use a separate connection.
    static let largeMessage = 1024 * 1024
}
