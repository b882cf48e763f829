import Synchronization

/// The connections that are open, so that idle ones can be closed, and all that are left when a shutdown takes
/// too long.
final class OpenConnections: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: HTTPConnection] = [:]
        /// Connections that were accepted and are not closed; some of them are not in the list yet.
        var count = 0
        /// How long those without a request so far may take for one, now that no more are accepted; nil before.
        var finishing: Duration?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let transferTimeout: TransferTimeout
    private let webSockets: WebSocketSlots

    /// - Parameters:
    ///   - transferTimeout: Knows the transfers on the connections.
    ///   - webSockets: Knows those of them that are WebSocket's.
    init(transferTimeout: TransferTimeout, webSockets: WebSocketSlots) {
        self.transferTimeout = transferTimeout
        self.webSockets = webSockets
    }

    /// How many were accepted and are not closed.
    var count: Int { state.withLock { $0.count } }

    /// How many of the open connections of HTTP wait for a request, and how many have one under way.
    var idleAndActive: (idle: Int, active: Int) {
        var idle = 0
        let all = list
        for connection in all where connection.activity.withLock({ $0.idleTime }) != nil { idle += 1 }
        return (idle, all.count - idle)
    }

    /// Counts a connection that was accepted; returns how many there are now.
    func admit() -> Int {
        state.withLock { state in
            state.count += 1
            return state.count
        }
    }

    /// Counts a connection that was closed.
    func dismiss() {
        state.withLock { $0.count -= 1 }
    }

    /// Closes every connection, whatever it is doing, and those that are still to come.
    func closeAll() {
        let connections = state.withLock { state in
            state.isClosed = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.close() }
    }

    /// Closes every connection when the requests under way on it are answered, and those that are still to come.
    ///
    /// - Parameter firstRequest: How long a connection that had no request yet may take for one.
    func finishAll(firstRequest: Duration) {
        let connections = state.withLock { state in
            state.finishing = firstRequest
            return Array(state.connections.values)
        }
        for connection in connections { connection.finish(firstRequest: firstRequest) }
    }

    /// Closes connections without requests until the task is cancelled.
    ///
    /// - Parameter idleLimit: How long a connection may be without.
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

    /// Closes so many connections, to make room for others: those that have been without a request for the longest
    /// time, and when there are not enough of them, those with the slowest transfers, and WebSocket's whose clients are
    /// not known.
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

    /// Takes a connection into the list.
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

    /// Takes a connection out of the list.
    func remove(_ connection: HTTPConnection) {
        state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
    }
}
