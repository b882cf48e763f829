import Synchronization

/// The open connections. Closes idle ones, and on shutdown all of them.
final class OpenConnections: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: HTTPConnection] = [:]
        /// The number of accepted connections that are not closed. Some of them are not in the list yet.
        var count = 0
        /// The time limit for the first request of a connection during shutdown, or nil before the shutdown.
        var finishing: Duration?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let transferTimeout: TransferTimeout
    private let webSockets: WebSocketSlots

    init(transferTimeout: TransferTimeout, webSockets: WebSocketSlots) {
        self.transferTimeout = transferTimeout
        self.webSockets = webSockets
    }

    /// The number of accepted connections that are not closed.
    var count: Int { state.withLock { $0.count } }

    /// The numbers of open connections without and with a running request.
    var idleAndActive: (idle: Int, active: Int) {
        var idle = 0
        let all = list
        for connection in all where connection.activity.withLock({ $0.idleTime }) != nil { idle += 1 }
        return (idle, all.count - idle)
    }

    /// Counts an accepted connection. Returns the new count.
    func admit() -> Int {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    func dismiss() {
        state.withLock { $0.count -= 1 }
    }

    /// Closes all connections at once, including those accepted later.
    func closeAll() {
        let connections = state.withLock { state in
            state.isClosed = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.close() }
    }

    /// Closes each connection after its running requests, including those accepted later.
    ///
    /// - Parameter firstRequest: The time limit for the first request of a connection that had none so far.
    func finishAll(firstRequest: Duration) {
        let connections = state.withLock { state in
            state.finishing = firstRequest
            return Array(state.connections.values)
        }
        for connection in connections { connection.finish(firstRequest: firstRequest) }
    }

    /// Closes idle connections until the task is cancelled.
    func closeIdle(after idleLimit: Duration) async {
        while (try? await Task.sleep(for: min(idleLimit / 4, .seconds(5)))) != nil {
            sweep(closingAfter: idleLimit, at: .now)
        }
    }

    /// Idle time after which a connection frees the memory of its answering task.
    private static let rest = Duration.seconds(1)

    @inline(never)
    private func sweep(closingAfter idleLimit: Duration, at now: ContinuousClock.Instant) {
        for connection in list {
            guard let idleTime = connection.activity.withLock({ $0.idleTime }) else { continue }
            if idleTime < now - idleLimit {
                connection.closeIfIdle(since: now - idleLimit)
            } else if idleTime < now - Self.rest {
                connection.parts.rest()
            }
        }
    }

    /// Closes connections to make room for others: first the longest idle ones. If these are fewer than `count`, also
    /// those with the slowest transfers and the WebSocket connections of unauthenticated clients.
    func closeUnused(_ count: Int) {
        let idle = list.compactMap { connection in
            connection.activity.withLock { $0.idleTime }.map { (since: $0, connection: connection) }
        }
        let oldest = idle.sorted { $0.since < $1.since }.prefix(count)
        for (_, connection) in oldest { connection.closeIfIdle() }
        guard oldest.count < count else { return }
        transferTimeout.closeSlowest(count - oldest.count)
        webSockets.closeUnknown(count - oldest.count)
    }

    private var list: [HTTPConnection] {
        state.withLock { Array($0.connections.values) }
    }

    /// Adds a connection. If the server is shutting down, closes it at once or after its first request.
    func insert(_ connection: HTTPConnection) {
        let (finishing, isClosed) = state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = connection
            return (state.finishing, state.isClosed)
        }
        if isClosed {
            connection.close()
        } else if let finishing {
            connection.finish(firstRequest: finishing)
        }
    }

    func remove(_ connection: HTTPConnection) {
        state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
    }
}
