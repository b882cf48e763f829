import Logging

/// A set of connections for one purpose. All its functions are called on the I/O thread.
package protocol ConnectionPool: AnyObject {
    var connections: [Connection] { get }
    /// Whether it has no connections and waits for none, as most pools nearly always: nothing can be due.
    var isUnused: Bool { get }
    var waiting: Int { get }
    /// How many open connections have nothing to do.
    var idleConnections: Int { get }
    /// How many requests have waited for a connection in vain.
    var timeouts: Int { get }
    /// When ``tick()`` must be called at the latest.
    var nextDeadline: MonotonicInstant? { get }

    /// A connection stands and takes requests.
    func didConnect(_ connection: Connection)
    /// A request is done: its results are there, or its error.
    func didFinish(_ request: Request, on connection: Connection)
    /// A connection broke, or could not be made; what was under way on it has no answer.
    func didBreak(_ connection: Connection, losing requests: [Request], because reason: PostgresError)
    /// A notification came on a listening connection.
    func didNotify(_ connection: Connection, channel: String, payload: String)
    /// The result that comes takes too much memory: the pool fails its request, and asks the server to cancel it.
    func didOutgrow(_ connection: Connection, _ handle: OpaquePointer)
    /// Does what is due.
    func tick()
}

extension ConnectionPool {
    package var isUnused: Bool { false }
    package var idleConnections: Int { connections.count { $0.isReady && $0.inFlight.isEmpty } }
    package var timeouts: Int { 0 }
    package func didNotify(_ connection: Connection, channel: String, payload: String) {}
    package func didOutgrow(_ connection: Connection, _ handle: OpaquePointer) {}
}

/// What all parts on the I/O thread share.
package final class LoopContext {
    package let configuration: PostgresConfiguration
    let logger: Logger
    let notices: NoticeLog
    let commandQueue: CommandQueue
    package let history: ReadHistory
    let rows: RowBudget
    /// The time, as of the last look at the clock.
    package var now = MonotonicInstant.now
    /// Whether the client is being shut down: no new connections, no waiting.
    package var isStopping = false
    /// Whether a connection is broken and waits to be cleared away.
    var hasBroken = false
    /// How often connections broke or could not be made.
    var breaks = 0
    /// The addresses of poolers that refuse the server's options.
    var refusingOptions: Set<String> = []
    /// Whether notifications were found not to arrive: most likely a pooler lends sessions for single transactions.
    var isWithoutNotifications = false
    /// What is added to the texts of prepared statements so that a pooler does not find plans that no longer fit; zero
    /// for nothing.
    var planGeneration: UInt64 = 0
    /// Finds out which servers are old primaries.
    var timelines = TimelineWatch()
    /// Finds out when connections lead to a server that takes no writes any more.
    var renewal = ConnectionRenewal()
    let cancellations = ServerCancellations()

    package init(
        configuration: PostgresConfiguration, logger: Logger, commandQueue: CommandQueue, history: ReadHistory,
        rows: RowBudget
    ) {
        self.history = history
        self.rows = rows
        self.configuration = configuration
        self.logger = logger
        self.commandQueue = commandQueue
        notices = NoticeLog(logger)
    }
}

/// How long to wait before connecting again: longer each time, up to two seconds.
package struct BackOff {
    private var pause: Duration = .milliseconds(50)

    package init() {}

    package mutating func next() -> Duration {
        defer { pause = min(pause * 2, .seconds(2)) }
        return pause
    }
}

/// When connections are to be made anew because their server takes no writes any more, as after a failover that left
/// them open: a new connection may lead to the server that does.
///
/// Where there is no such server, reads go on, and connections are made anew less and less often.
package struct ConnectionRenewal {
    private var latest: MonotonicInstant?
    private var pause = shortestPause

    package init() {}

    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    /// Whether a connection that was opened at an instant is to be made anew.
    package func concerns(openedAt: MonotonicInstant) -> Bool { latest.map { openedAt < $0 } ?? false }

    /// Notes that the server of a connection refused to write.
    ///
    /// - Returns: Whether connections are to be made anew from now on that were not before.
    package mutating func noteRefusal(openedAt: MonotonicInstant, at now: MonotonicInstant) -> Bool {
        guard !concerns(openedAt: openedAt) else { return false }
        if let latest {
            guard latest.after(pause) <= now else { return false }
            pause = latest.after(pause * 4) > now ? min(pause * 2, Self.longestPause) : Self.shortestPause
        }
        latest = now
        return true
    }
}
