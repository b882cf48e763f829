import Logging

/// A set of connections for one purpose. All functions are called on the I/O thread.
package protocol ConnectionPool: AnyObject {
    var connections: [Connection] { get }
    /// Whether the pool has no connections and no waiting requests, so that nothing can be due.
    var isUnused: Bool { get }
    var waiting: Int { get }
    /// The number of open connections without a request.
    var idleConnections: Int { get }
    /// The number of requests that timed out waiting for a connection. Counted only for exclusive connections.
    var timeouts: Int { get }
    /// The time by which ``tick()`` must be called, or nil if nothing is due.
    var nextDeadline: MonotonicInstant? { get }

    /// Called when a connection is ready for requests.
    func didConnect(_ connection: Connection)
    /// Called when a request has its results or an error.
    func didFinish(_ request: Request, on connection: Connection)
    /// Called when a connection broke or could not be opened. The requests in flight on it got no response.
    func didBreak(_ connection: Connection, losing requests: [Request], because reason: PostgresError)
    /// Called when a notification arrives on a listening connection.
    func didNotify(_ connection: Connection, channel: String, payload: String)
    /// Called when an incoming result exceeds a size limit. The pool stops the result and fails its request, unless the
    /// request may be a write that has already committed.
    func didOutgrow(_ connection: Connection, _ handle: OpaquePointer)
    /// Performs all due work.
    func tick()
}

extension ConnectionPool {
    package var isUnused: Bool { false }
    package var idleConnections: Int { connections.count { $0.isReady && $0.inFlight.isEmpty } }
    package var timeouts: Int { 0 }
    package func didNotify(_ connection: Connection, channel: String, payload: String) {}
    package func didOutgrow(_ connection: Connection, _ handle: OpaquePointer) {}
}

/// State shared by everything on the I/O thread.
package final class LoopContext {
    package let configuration: PostgresConfiguration
    let logger: Logger
    let notices: NoticeLog
    let commandQueue: CommandQueue
    package let history: ReadHistory
    let rows: RowBudget
    /// The time at which the thread last read the clock.
    package var now = MonotonicInstant.now
    /// Whether the client is shutting down. If so, no connection is opened, and requests without a connection fail.
    package var isStopping = false
    /// Whether a broken connection has not been cleaned up yet.
    var hasBroken = false
    /// The number of connections that broke or could not be opened.
    var breaks = 0
    /// The connection strings of poolers that reject or ignore the server options.
    var refusingOptions: Set<String> = []
    /// Whether test notifications don't arrive, most likely because of a transaction pooler.
    var isWithoutNotifications = false
    /// The number appended to the text of prepared statements, so that a pooler doesn't reuse outdated plans, or 0 to
    /// append nothing.
    var planGeneration: UInt64 = 0
    var timelines = TimelineWatch()
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

/// The delays between attempts to connect or to cancel a statement, doubling from 50 ms to 2 s.
package struct BackOff {
    private var pause: Duration = .milliseconds(50)

    package init() {}

    package mutating func next() -> Duration {
        defer { pause = min(pause * 2, .seconds(2)) }
        return pause
    }
}

/// Decides when to reopen connections because their server became read-only, for example after a failover that left
/// them open. A new connection may reach the new primary.
///
/// If no server accepts writes, reads continue, and connections are reopened less and less often, down to once a
/// minute.
package struct ConnectionRenewal {
    private var latest: MonotonicInstant?
    private var pause = shortestPause

    package init() {}

    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    /// Whether a connection opened at this time must be reopened.
    package func concerns(openedAt: MonotonicInstant) -> Bool { latest.map { openedAt < $0 } ?? false }

    /// Records that the server of a connection rejected a write.
    ///
    /// - Returns: Whether connections that were usable before must now be reopened.
    package mutating func recordRefusal(openedAt: MonotonicInstant, at now: MonotonicInstant) -> Bool {
        guard !concerns(openedAt: openedAt) else { return false }
        if let latest {
            guard latest.after(pause) <= now else { return false }
            pause = latest.after(pause * 4) > now ? min(pause * 2, Self.longestPause) : Self.shortestPause
        }
        latest = now
        return true
    }
}
