import Logging
import Synchronization
import Tasks

/// A client of one PostgreSQL database.
///
/// Short statements of all callers share a few pipelined connections; transactions and statements that can be slow have
/// connections of their own, so that a slow one never stands in front of a fast one.
///
/// An answer to ``query(_:_:readOnly:)`` or ``group(_:readOnly:conflictKey:)`` comes after the commit.
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
    /// The schema in which everything lies, as the connection string names it; nil where that is left to the role.
    public let schema: String?

    /// Makes a client. Nothing is connected before ``start()`` or the first request.
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

    /// Connects to the server.
    ///
    /// A server that is still starting up is waited for. When it throws, the client goes on trying all the same.
    ///
    /// - Throws: `PostgresError` with the server's own words when the first connection cannot be made.
    public func start() async throws {
        let request = WaitRequest()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                if request.promise.wait(with: continuation), !send(.start(request)) {
                    request.promise.fulfill(.failure(.shutDown))
                }
            }
        } onCancel: {
            request.promise.fulfill(.failure(.cancelled))
        }
    }

    /// Finishes what is under way (for ten seconds at most), closes all connections and ends the thread. What is asked
    /// later throws a `PostgresError` of the kind `shutdown`.
    public func shutdown() async {
        let thread = life.withLock { life -> OSThread? in
            defer { life = .ended }
            if case .running(let thread) = life { return thread }
            if case .new = life {
                _ = commandQueue.close()
                isStarted.store(true, ordering: .releasing)
            }
            return nil
        }
        if thread != nil { _ = commandQueue.send(.shutDown) }
        await commandQueue.waitForEnd()
        thread?.join()
    }

    /// How the client stands.
    public var statistics: PostgresStatistics { commandQueue.statistics }

    // MARK: Shared connections

    /// Runs one statement in a transaction of its own; it is committed when the answer comes. What takes long is stopped and
    /// carried out again elsewhere: a function that acts beside its transaction belongs into ``exclusively(_:)``.
    ///
    /// - Parameters:
    ///   - sql: The statement, with `$1`, `$2`… for the parameters.
    ///   - readOnly: Whether it changes nothing, and so may be sent again when its answer was lost.
    /// - Throws: `PostgresError`.
    public func query(_ sql: String, _ parameters: [PostgresParameter] = [], readOnly: Bool = false) async throws
        -> PostgresResult
    {
        try await query(Statement(sql, parameters), readOnly: readOnly)
    }

    /// Runs one statement in a transaction of its own; it is committed when the answer comes.
    ///
    /// - Parameter readOnly: Whether it changes nothing, and so may be sent again when its answer was lost.
    /// - Throws: `PostgresError`.
    public func query(_ statement: Statement, readOnly: Bool = false) async throws -> PostgresResult {
        let results = try await perform(Request(Self.content([statement]), isReadOnly: readOnly), [statement])
        guard let result = results.first else { throw PostgresError.noResult }
        return result
    }

    /// Runs statements in one transaction and one round trip: all of them are kept, or none.
    ///
    /// - Parameter conflictKey: A name for the one row that they change, where it is one. Requests for a row that
    ///   another transaction has locked wait where they keep no others waiting.
    /// - Returns: A result for each statement.
    /// - Throws: `PostgresError`, the first one.
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

    /// Runs statements that add or change one row in a transaction that those of other callers may share.
    ///
    /// For rows that must be unique in more than their key ``group(_:readOnly:conflictKey:)`` is better: there no
    /// request that shares a transaction stands in the way of others that do.
    ///
    /// - Parameter conflictKey: A name for the row.
    /// - Returns: A result for each statement.
    /// - Throws: `PostgresError`, the first one; then none of the statements was carried out.
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

    /// Announces something to all listeners of a channel.
    ///
    /// - Throws: `PostgresError`.
    public func notify(channel: String, payload: String) async throws {
        _ = try await query("SELECT pg_notify($1, $2)", [.text(channels.stored(channel)), .text(payload)])
    }

    /// Announces several things, in their order, in one round trip.
    ///
    /// - Throws: `PostgresError`; then none is announced.
    public func notify(channel: String, payloads: [String]) async throws {
        _ = try await query(
            "SELECT pg_notify($1, payload) FROM unnest($2::text[]) WITH ORDINALITY AS list(payload, place) ORDER BY place",
            [.text(channels.stored(channel)), .textArray(payloads)])
    }

    /// Has statements carried out on a shared connection. Those that wait for a lock or take long there, and writes that are
    /// large, are carried out on a connection of their own, where they keep no others waiting.
    ///
    /// - Parameter statements: Those of the request, which only that other connection needs.
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
        // The server stops a read that waits for a lock, too, when its caller leaves.
        guard !request.isReadOnly else { return try await read(statements, in: purpose).results }
        return try await exclusively(in: purpose, conflictKey: request.conflictKey) { try await $0.group(statements) }
    }

    private func perform(_ request: Request) async throws -> [PostgresResult] {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                if request.promise.wait(with: continuation), !send(.submit(request)) { request.fail(.shutDown) }
            }
        } onCancel: {
            request.fail(.cancelled)
        }
    }

    // MARK: Notifications

    /// Listens to channels, on a connection of its own that is made anew whenever it breaks.
    ///
    /// - Returns: What is announced, from the first ``PostgresEvent/connected`` on. The stream ends with the client.
    ///   One that is read so slowly that megabytes wait loses them, and gives ``PostgresEvent/connected`` once more.
    public func listen(channels: [String]) -> AsyncStream<PostgresEvent> {
        let id = lastListener.add(1, ordering: .relaxed).newValue
        let listening = Listening { [commandQueue] in _ = commandQueue.send(.unlisten(id: id)) }
        // Quoted identifiers hold no NUL and have no parameters, so that encoding them cannot fail.
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

    /// Hands in a command, and starts the thread with the first; false when the client has ended.
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

/// How the client stands at one moment.
public struct PostgresStatistics: Sendable {
    /// Open connections.
    public var connections = 0
    /// Requests that were sent and not answered yet.
    public var inFlight = 0
    /// Requests that wait for a connection.
    public var waiting = 0
    /// Prepared statements on all connections.
    public var preparedStatements = 0
    /// Connections that broke, or could not be made, since the client started.
    public var reconnects = 0
    /// Counts per pool. SIMD vectors avoid an allocation whenever the I/O thread sleeps.
    private var openByPool = SIMD16<Int32>()
    private var idleByPool = SIMD16<Int32>()
    private var waitingByPool = SIMD16<Int32>()
    private var timeoutsByPool = SIMD16<Int32>()

    package init() {}

    /// Counts of one pool.
    public struct Pool: Sendable {
        /// The pool's purpose.
        public var name: String
        /// Open connections.
        public var connections: Int
        /// Those of them that nothing is asked of.
        public var idle: Int
        /// Waiting requests.
        public var waiting: Int
        /// Requests that have waited for one in vain, since the client started.
        public var timeouts: Int
    }

    /// In the order of the I/O thread's pools.
    private static let names = ["shared"] + PoolPurpose.allCases.map { "\($0)" } + ["listeners"]

    /// All pools.
    public var pools: [Pool] {
        Self.names.enumerated().map { index, name in
            Pool(
                name: name, connections: Int(openByPool[index]), idle: Int(idleByPool[index]),
                waiting: Int(waitingByPool[index]), timeouts: Int(timeoutsByPool[index]))
        }
    }

    /// Notes how a pool stands, by its place among all.
    mutating func note(_ index: Int, connections: Int, idle: Int, waiting: Int, timeouts: Int) {
        (openByPool[index], idleByPool[index], waitingByPool[index], timeoutsByPool[index]) = (
            Int32(clamping: connections), Int32(clamping: idle), Int32(clamping: waiting), Int32(clamping: timeouts)
        )
    }
}
