import Synchronization

/// The connections of live queries that are open in this process.
final class OpenConnections: Sendable {
    private struct State {
        var all: [ObjectIdentifier: (order: Int, LiveQueryConnection)] = [:]
        var count = 0
    }

    private let state = Mutex(State())

    /// Adds one that begins.
    func add(_ connection: LiveQueryConnection) {
        state.withLock { state in
            state.count += 1
            state.all[ObjectIdentifier(connection)] = (state.count, connection)
        }
    }

    /// Removes one that ends.
    func remove(_ connection: LiveQueryConnection) {
        state.withLock { state in state.all[ObjectIdentifier(connection)] = nil }
    }

    /// Those that have been open for longest.
    func oldest(_ most: Int) -> [LiveQueryConnection] {
        state.withLock { state in state.all.values.sorted { $0.order < $1.order }.prefix(most).map { $0.1 } }
    }
}
