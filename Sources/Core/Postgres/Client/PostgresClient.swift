import Limits
import Logging
import Synchronization

/// A client of one PostgreSQL database.
///
/// Short statements of all callers share a few pipelined connections. Transactions, and statements that are or turn out
/// slow, use separate connections. Functions that change rows return after the commit.
public final class PostgresClient: Sendable {
    private enum Life {
        case new
        case running(OSThread)
        case ended
    }

    let configuration: PostgresConfiguration
    private let logger: Logger
    let commandQueue = CommandQueue()
    package let history = ReadHistory()
    package let rows = RowBudget()
    private let life = Mutex(Life.new)
    private let isStarted = Atomic(false)
    private let lastListener = Atomic(0)
    private let channels: AppChannels
    /// The schema of all tables (``PostgresConfiguration/schema``), or nil if it is unknown.
    public let schema: String?

    /// Creates a client. It connects with ``start()`` or with the first request.
    public init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        schema = configuration.schema
        channels = AppChannels(schema: schema)
    }

    deinit {
        life.withLock { life in
            guard case .running(let thread) = life else { return }
            _ = commandQueue.send(.shutDown)
            thread.detach()
        }
    }

    /// Connects, waiting up to ``PostgresConfiguration/connectTimeout`` if the server is still starting up. If this
    /// throws, the client keeps trying to connect.
    ///
    /// - Throws: `PostgresError`, with the message of the server or of libpq if the first connection fails.
    public func start() async throws {
        let request = WaitRequest()
        try await withTaskCancellationHandler {
            try await request.promise.value { send(.start(request)) }
        } onCancel: {
            request.promise.fulfill(.failure(.cancelled))
        }
    }

    /// Finishes running work for at most 10 seconds, closes all connections and ends the thread. Later requests throw a
    /// `PostgresError` of the kind `shutdown`.
    public func shutdown() async {
        let thread = life.withLock { life -> OSThread? in
            defer { life = .ended }
            if case .running(let thread) = life { return thread }
            if case .new = life {
                _ = commandQueue.close()
                commandQueue.end.set(())
                isStarted.store(true, ordering: .releasing)
            }
            return nil
        }
        if thread != nil { _ = commandQueue.send(.shutDown) }
        _ = await commandQueue.end.wait()
        thread?.join()
    }

    public var statistics: PostgresStatistics { commandQueue.statistics }

    // MARK: Shared connections

    /// Runs one statement in its own transaction, and returns after the commit.
    ///
    /// A statement that takes too long, or waits too long for a lock, is stopped and runs again on a separate
    /// connection. Use ``exclusively(_:)`` for SQL functions with effects outside their transaction.
    ///
    /// - Parameters:
    ///   - sql: The statement, with `$1`, `$2`… for the parameters.
    ///   - readOnly: Whether the statement changes nothing and can be resent if its response is lost.
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = [], readOnly: Bool = false) async throws
        -> PostgresResult
    {
        try await query(Statement(sql, parameters), readOnly: readOnly)
    }

    /// Runs one statement in its own transaction, and returns after the commit.
    ///
    /// - Parameter readOnly: Whether the statement changes nothing and can be resent if its response is lost.
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement, readOnly: Bool = false) async throws -> PostgresResult {
        try Self.last(
            of: try await perform(Request(Self.content([statement]), isReadOnly: readOnly), [statement]))
    }

    /// Runs statements in one transaction, usually in one round trip. Either all of them take effect or none.
    ///
    /// - Parameter conflictKey: A name for the row if the statements change only one. If another transaction has locked
    ///   that row, the request waits on a separate connection.
    /// - Returns: One result per statement.
    /// - Throws: The first `PostgresError`.
    public func group(
        _ statements: [Statement], readOnly: Bool = false, conflictKey: String? = nil
    ) async throws -> [PostgresResult] {
        guard !statements.isEmpty else { return [] }
        if configuration.changesInBlocks, !readOnly, statements.count > 1 {
            return try await block(conflictKey: conflictKey, statements)
        }
        return try await perform(
            Request(Self.content(statements), isReadOnly: readOnly, conflictKey: conflictKey), statements)
    }

    /// Runs statements that add or change one row, in a transaction that may include changes of other callers.
    ///
    /// For tables with unique columns besides the id, prefer ``group(_:readOnly:conflictKey:)``, so that changes of
    /// several callers don't block each other.
    ///
    /// - Parameter conflictKey: A name for the row.
    /// - Returns: One result per statement.
    /// - Throws: The first `PostgresError`. The statements have no effect, except possibly if the connection was lost
    ///   or the task was cancelled.
    public func change(conflictKey: String, _ statements: [Statement]) async throws -> [PostgresResult] {
        guard !statements.isEmpty else { return [] }
        return try await perform(
            Request(Self.content(statements), conflictKey: conflictKey, sharesTransaction: true), statements)
    }

    private static func content(_ statements: [Statement]) throws -> Request.Content {
        .statements(
            try statements.map { statement in
                try SharedPoolRules.check(statement.sql)
                return try EncodedStatement(statement)
            })
    }

    /// Sends notifications to all listeners of a channel, in order and in one round trip. Either all are sent or none.
    ///
    /// - Throws: `PostgresError`. After a lost connection or a cancellation, they may have been sent.
    public func notify(channel: String, payloads: [String]) async throws {
        _ = try await query(
            "SELECT pg_notify($1, payload) FROM unnest($2::text[]) WITH ORDINALITY AS list(payload, place) ORDER BY place",
            [.text(channels.stored(channel)), .textArray(payloads)])
    }

    /// Runs a request on a shared connection. If it waits for a lock there or takes too long, it runs again on a
    /// separate connection. A slow or large read with a shape throws ``PostgresError/detour`` instead. Large writes use
    /// a separate connection from the start, and so do statements that leave something behind when stopped, such as an
    /// invalid index.
    ///
    /// - Parameter statements: The statements of the request, evaluated only for a separate connection.
    func perform(_ request: Request, _ statements: @autoclosure () -> [Statement]) async throws -> [PostgresResult] {
        var purpose = request.isReadOnly ? PoolPurpose.slowReads : .slowWrites
        let size = request.statements.reduce(0) { $0 + $1.bytes.count }
        if !request.isReadOnly, request.statements.contains(where: { SharedPoolRules.keepsParts($0.key.sql) }) {
            purpose = .administration
        } else if request.isReadOnly || size <= Connection.largeMessage {
            do {
                return try await perform(request)
            } catch let error as PostgresError where error.isLockTimeout || error.isOverdue {
                if error.isLockTimeout { purpose = .lockWaits }
            }
        }
        let statements = statements()
        // A read is stopped when its client disconnects, even while it waits for a lock.
        guard !request.isReadOnly else { return try await read(statements, in: purpose).results }
        return try await group(statements, in: purpose, conflictKey: request.conflictKey)
    }

    private func perform(_ request: Request) async throws -> [PostgresResult] {
        try await withTaskCancellationHandler {
            try await request.promise.value { send(.submit(request)) }
        } onCancel: {
            request.fail(.cancelled)
        }
    }

    // MARK: Notifications

    /// Listens to channels on a separate connection, which is reopened whenever it breaks.
    ///
    /// - Returns: The events, beginning with ``PostgresEvent/connected``. Unread events above 4 MB are replaced with
    ///   ``PostgresEvent/disconnected`` and ``PostgresEvent/connected``. The stream ends with the client. It stays
    ///   empty if the client only reads, or if a transaction pooler is its only address.
    public func listen(channels: [String]) -> AsyncStream<PostgresEvent> {
        let id = lastListener.add(1, ordering: .relaxed).newValue
        let listening = Listening { [commandQueue] in _ = commandQueue.send(.unlisten(id: id)) }
        // Quoted identifiers contain no NUL and there are no parameters, so encoding them can't fail.
        let names = self.channels
        let statements = channels.compactMap {
            try? EncodedStatement(Statement("LISTEN \(SQL.identifier(names.stored($0)))"))
        }
        if !send(.listen(id: id, channels: statements, listening.events)) { listening.events.finish() }
        return AsyncStream {
            let event = await listening.events.next()
            guard case .notification(let stored, let payload) = event else { return event }
            return .notification(channel: names.channel(stored), payload: payload)
        }
    }

    // MARK: The thread

    /// Enqueues a command, and starts the thread with the first. Returns false if that fails or the client has ended.
    func send(_ command: CommandQueue.Command) -> Bool {
        if !isStarted.load(ordering: .acquiring), !startThread() { return false }
        return commandQueue.send(command)
    }

    private func startThread() -> Bool {
        life.withLock { life in
            switch life {
            case .ended: return false
            case .running: return true
            case .new:
                let thread = OSThread { [configuration, logger, commandQueue, history, rows] in
                    InputOutputLoop.run(
                        LoopContext(
                            configuration: configuration, logger: logger, commandQueue: commandQueue,
                            history: history, rows: rows))
                }
                guard thread.isRunning else { return false }
                life = .running(thread)
                isStarted.store(true, ordering: .releasing)
                return true
            }
        }
    }
}

/// Connections and requests of a client at one moment.
public struct PostgresStatistics: Sendable {
    /// The counts of one pool.
    public struct Pool: Sendable {
        /// The pool's purpose, such as `slowReads`.
        public let name: String
        /// Open connections.
        public internal(set) var connections = 0
        /// Open connections without a request.
        public internal(set) var idle = 0
        /// Waiting requests.
        public internal(set) var waiting = 0
        /// Requests that timed out waiting for an exclusive connection, since the client started.
        public internal(set) var timeouts = 0
        var inFlight = 0
        var preparedStatements = 0
    }

    /// The pools, in the same order as in `InputOutputLoop`, which fills them by index.
    public internal(set) var pools =
        (["shared"] + PoolPurpose.allCases.map { "\($0)" } + ["listeners"]).map { Pool(name: $0) }
    /// Connections that broke or could not be opened since the client started.
    public internal(set) var reconnects = 0
    /// Commands that the I/O thread hasn't taken yet.
    var commands = 0

    package init() {}

    /// Open connections of all pools.
    public var connections: Int { sum { $0.connections } }
    /// Requests that were sent and have no response yet.
    public var inFlight: Int { sum { $0.inFlight } }
    /// Requests that wait for a connection.
    public var waiting: Int { sum { $0.waiting } + commands }
    /// Prepared statements on all connections.
    public var preparedStatements: Int { sum { $0.preparedStatements } }

    private func sum(_ count: (Pool) -> Int) -> Int { pools.reduce(0) { $0 + count($1) } }
}
