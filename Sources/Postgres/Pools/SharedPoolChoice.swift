/// Which of the shared connections a request is sent on.
extension SharedPool {
    /// How long a request may take before its connection counts as stalled: others avoid it and no longer wait for it. In
    /// milliseconds.
    private static let stallThreshold: Int64 = 20

    /// Whether something slow is in front, perhaps a lock: better to wait behind many quick ones.
    private func isSlow(_ connection: Connection) -> Bool {
        !connection.inFlight.isEmpty && connection.headSince.isOlder(than: Self.stallThreshold, at: context.now)
    }

    /// Whether it changes rows, and is not slow, so that the next ones can wait for it.
    func isBusyWithChanges(_ connection: Connection) -> Bool {
        connection.changes > 0 && !isSlow(connection)
    }

    /// When requests stop waiting for what a connection is busy with; nil when none waits.
    func stallDeadline(of connection: Connection) -> MonotonicInstant? {
        isBusyWithChanges(connection) ? connection.headSince.after(.milliseconds(Self.stallThreshold)) : nil
    }

    /// The connection for the next that only read: not one with a write before them, whose commit they would wait for, if
    /// there is any other; nil when all have a batch of reads under way.
    func connectionForReads() -> Connection? {
        if let connection = connections.first(where: { $0.takesRead(isSearch: false) }) { return connection }
        let isAnyQuiet = connections.contains { $0.takesRequests && $0.writes == 0 }
        return leastBusy(where: { $0.batched == 0 && !(isAnyQuiet && $0.writes > 0) })
    }

    /// The connection with the fewest before it, but not the first if there are others: that one is left to reads.
    func leastBusyForWrites(where isWanted: (Connection) -> Bool = { _ in true }) -> Connection? {
        let first = connections.first(where: \.takesRequests)
        let hasOthers = connections.contains { $0.takesRequests && $0 !== first }
        return leastBusy(where: { isWanted($0) && !(hasOthers && $0 === first) })
    }

    /// The connection with the fewest before it.
    func leastBusy(where isWanted: (Connection) -> Bool = { _ in true }) -> Connection? {
        var best: Connection?
        var bestLoad = Int.max
        for connection in connections where connection.takesRequests && isWanted(connection) {
            let load =
                connection.inFlight.count + (connection.searches > 0 ? 1000 : 0) + (isSlow(connection) ? 1_000_000 : 0)
            if load < bestLoad { (best, bestLoad) = (connection, load) }
        }
        return best
    }
}
