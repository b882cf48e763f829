/// Which of the shared connections a request is sent on.
extension SharedLane {
    /// How long a request may take before the connection is avoided, and nobody waits for it, in milliseconds.
    private static let patience: Int64 = 20
    /// How long those who read single rows wait for one another, in milliseconds.
    private static let patienceForRows: Int64 = 2

    /// Whether something slow is in front, perhaps a lock: better to wait behind many quick ones.
    private func isSlow(_ connection: Connection, patience: Int64 = patience) -> Bool {
        !connection.inFlight.isEmpty && connection.headSince.isOlder(than: patience, at: context.now)
    }

    /// Whether it changes rows, and is not slow, so that the next ones can wait for it.
    func isBusyWithChanges(_ connection: Connection) -> Bool {
        connection.changes > 0 && !isSlow(connection)
    }

    /// Whether it reads nothing but single rows, and is not slow, so that the next ones can wait for it.
    private func isBusyWithRows(_ connection: Connection) -> Bool {
        connection.company > 0 && connection.largerReads == 0 && !isSlow(connection, patience: Self.patienceForRows)
    }

    /// Whether it only reads, and is not slow, so that the next ones can wait for it.
    private func isBusyWithReads(_ connection: Connection) -> Bool {
        connection.company > 0 && !isSlow(connection)
    }

    /// When nobody waits any more for what a connection is busy with; nil when nobody does.
    func endOfPatience(with connection: Connection) -> Moment? {
        if isBusyWithRows(connection) { return connection.headSince.after(.milliseconds(Self.patienceForRows)) }
        if isBusyWithReads(connection) || isBusyWithChanges(connection) {
            return connection.headSince.after(.milliseconds(Self.patience))
        }
        return nil
    }

    /// Whether as many companies are under way as shall be. More of them would be smaller, and each would take longer where
    /// the server's processes have to share the processors.
    private func hasEnoughCompanies(_ effort: Effort) -> Bool {
        if effort == .row { return connections.count(where: isBusyWithRows) >= context.configuration.companiesOfRows }
        return connections.count(where: isBusyWithReads) >= context.configuration.companiesOfReads
            && connections.contains(where: \.isServerHere)
    }

    /// The connection for the next that only read: not one with a write before them, whose commit they would wait for, if
    /// there is any other; nil when they had better wait.
    func connectionForReads(_ effort: Effort) -> Connection? {
        if let connection = connections.first(where: { $0.takesCompany(effort) }) { return connection }
        if hasEnoughCompanies(effort) { return nil }
        let isAnyQuiet = connections.contains { $0.isReady && $0.writes == 0 }
        return leastBusy(where: { $0.company == 0 && !(isAnyQuiet && $0.writes > 0) })
    }

    /// The connection with the fewest before it, but not the first if there are others: that one is left to reads.
    func leastBusyForWrites(where isWanted: (Connection) -> Bool = { _ in true }) -> Connection? {
        let first = connections.first(where: \.isReady)
        let hasOthers = connections.contains { $0.isReady && $0 !== first }
        return leastBusy(where: { isWanted($0) && !(hasOthers && $0 === first) })
    }

    /// The connection with the fewest before it.
    func leastBusy(where isWanted: (Connection) -> Bool = { _ in true }) -> Connection? {
        var best: Connection?
        var bestLoad = Int.max
        for connection in connections where connection.isReady && isWanted(connection) {
            let load = connection.inFlight.count + (isSlow(connection) ? 1_000_000 : 0)
            if load < bestLoad { (best, bestLoad) = (connection, load) }
        }
        return best
    }
}
