/// Connections that receive notifications, one per call of `listen`.
final class ListenerPool: ConnectionPool {
    private final class Listener {
        let id: Int
        let channels: [EncodedStatement]
        let events: EventBuffer
        let connection: Connection
        var isConnected = false
        var check = NotificationCheck()
        /// The time at which the server last responded or was last pinged.
        var lastSign: MonotonicInstant

        init(id: Int, channels: [EncodedStatement], _ events: EventBuffer, _ connection: Connection) {
            self.id = id
            self.channels = channels
            self.events = events
            self.connection = connection
            lastSign = connection.context.now
        }
    }

    private let context: LoopContext
    /// Listeners without a connection, because the client only reads or has only a transaction pooler.
    private var unnotified: [Int: EventBuffer] = [:]
    private var listeners: [Listener] = [] {
        didSet { connections = listeners.map(\.connection) }
    }

    /// Milliseconds between pings, which detect connections that the network dropped silently.
    private static let heartbeat: Int64 = 30_000
    private static let heartbeatTimeout: Int64 = 10_000
    private static let sign = EncodedStatement(constant: "SELECT 1")

    init(_ context: LoopContext) { self.context = context }

    private(set) var connections: [Connection] = []
    var waiting: Int { 0 }

    var nextDeadline: MonotonicInstant? {
        var earliest = EarliestInstant()
        for listener in listeners {
            earliest.consider(
                listener.connection.reopening ?? listener.connection.deadline
                    ?? listener.lastSign.after(.milliseconds(Self.pause(of: listener) + 1)))
            earliest.consider(listener.check.deadline)
        }
        return earliest.instant
    }

    private static func pause(of listener: Listener) -> Int64 {
        listener.connection.inFlight.isEmpty ? heartbeat : heartbeatTimeout
    }

    /// Opens a listening connection, if the server delivers notifications. It is reopened until the stream ends.
    func listen(id: Int, channels: [EncodedStatement], _ events: EventBuffer) {
        guard !context.isStopping else { return events.finish() }
        guard context.configuration.hasSessions, !context.configuration.onlyReads else {
            unnotified[id] = events
            return
        }
        let connection = Connection(context, pool: self, ConnectionParameters(context.configuration.direct).unwatched)
        listeners.append(Listener(id: id, channels: channels, events, connection))
        connection.open()
    }

    /// Closes the connection of a stream that is no longer read.
    func unlisten(id: Int) {
        unnotified[id] = nil
        for listener in listeners where listener.id == id { listener.connection.close() }
        listeners.removeAll { $0.id == id }
    }

    func didConnect(_ connection: Connection) {
        guard let listener = listener(of: connection) else { return }
        connection.backOff = BackOff()
        listener.lastSign = context.now
        let check = try? EncodedStatement(Statement("LISTEN \(SQL.identifier(listener.check.channel))"))
        _ = connection.send(Request(.statements(listener.channels + (check.map { [$0] } ?? []))))
    }

    func didFinish(_ request: Request, on connection: Connection) {
        guard let listener = listener(of: connection) else { return }
        listener.lastSign = context.now
        if let error = request.sending.error {
            connection.fail(error)
        } else if !listener.isConnected, case .idle = listener.check.state {
            listener.check.ask(context)
        }
    }

    func didNotify(_ connection: Connection, channel: String, payload: String) {
        guard let listener = listener(of: connection) else { return }
        guard channel == listener.check.channel else {
            return listener.events.append(.notification(channel: channel, payload: payload))
        }
        listener.check.end()
        guard !listener.isConnected else { return }
        listener.isConnected = true
        listener.events.append(.connected)
        guard context.isWithoutNotifications else { return }
        context.isWithoutNotifications = false
        context.logger.notice("receiving PostgreSQL notifications")
    }

    private func logSilence() {
        guard !context.isWithoutNotifications else { return }
        context.isWithoutNotifications = true
        context.logger.error(
            """
            PostgreSQL notifications don't arrive, probably because of a transaction pooler. Set directDatabaseURI to \
            the database server itself. Until then Roost polls classes, sessions and roles twice a second, misses \
            webhook changes of other processes, and live queries see only this process's changes
            """)
    }

    func didBreak(_ connection: Connection, losing requests: [Request], because reason: PostgresError) {
        guard let listener = listener(of: connection) else { return }
        listener.check.end()
        connection.reopening = context.now.after(connection.backOff.next())
        guard listener.isConnected else { return }
        listener.isConnected = false
        context.logger.warning("PostgreSQL notifications interrupted", metadata: ["reason": "\(reason)"])
        listener.events.append(.disconnected)
    }

    func tick() {
        for listener in listeners {
            listener.connection.checkDeadline()
            // Only the server that accepts writes sends notifications.
            if listener.connection.isReady, listener.connection.isOutdated {
                listener.connection.fail(
                    PostgresError(.connectionLost, "the connection was lost: the server became read-only"))
            }
            if let reopening = listener.connection.reopening {
                guard reopening <= context.now, !context.isStopping else { continue }
                listener.connection.reopening = nil
                listener.connection.open()
            } else if listener.check.tick(context) {
                logSilence()
            } else if listener.connection.isReady,
                listener.lastSign.isOlder(than: Self.pause(of: listener), at: context.now)
            {
                askForSign(listener)
            }
        }
    }

    private func askForSign(_ listener: Listener) {
        guard listener.connection.inFlight.isEmpty else {
            return listener.connection.fail(
                PostgresError(.connectionLost, "the connection was lost: the server did not respond"))
        }
        listener.lastSign = context.now
        _ = listener.connection.send(Request(.statements([Self.sign])))
    }

    private func listener(of connection: Connection) -> Listener? {
        listeners.first { $0.connection === connection }
    }

    func end() {
        for events in unnotified.values { events.finish() }
        unnotified.removeAll()
        for listener in listeners {
            listener.events.finish()
            listener.connection.close()
        }
        listeners.removeAll()
    }
}
