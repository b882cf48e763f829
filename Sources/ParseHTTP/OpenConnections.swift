import Synchronization

/// The connections that are open, so that those that nobody uses can be closed, and the last of them when a shutdown
/// takes too long.
final class OpenConnections: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: HTTPConnection] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Closes every connection, whatever it is doing, and those that are still to come.
    func closeAll() {
        let connections = state.withLock { state in
            state.isClosed = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.close() }
    }

    /// Closes connections without requests until the task is cancelled.
    ///
    /// - Parameter patience: How long a connection may be without.
    func closeIdle(after patience: Duration) async {
        while (try? await Task.sleep(for: min(patience / 4, .seconds(5)))) != nil {
            let moment = ContinuousClock.now - patience
            let connections = state.withLock { Array($0.connections.values) }
            for connection in connections where connection.activity.withLock({ $0.isIdle(since: moment) }) {
                connection.close()
            }
        }
    }

    /// Takes a connection into the list.
    func insert(_ connection: HTTPConnection) {
        let isClosed = state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = connection
            return state.isClosed
        }
        if isClosed { connection.close() }
    }

    /// Takes a connection out of the list.
    func remove(_ connection: HTTPConnection) {
        state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
    }
}
