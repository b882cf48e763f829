/// Chooses the shared connection for each request, and stops slow reads.
extension SharedPool {
    /// Whether changes are in flight that the next ones wait for.
    var isBusyWithChanges: Bool { connections.contains { $0.inFlight.isBusyWithChanges(at: context.now) } }

    /// Returns the connection for the next read: one with an open batch, or the least busy without a batch, or nil. If
    /// any connection carries no writes, those with writes are left out, because the read would wait for their commit.
    package func connectionForReads() -> Connection? {
        if let connection = connections.first(where: { $0.takesRead(isSearch: false) }) { return connection }
        let isAnyQuiet = connections.contains { $0.takesRequests && $0.inFlight.writes == 0 }
        return leastBusy(where: { $0.inFlight.batched == 0 && !(isAnyQuiet && $0.inFlight.writes > 0) })
    }

    /// Returns the connection for the next reads that may take long, or nil if all are busy with reads. The first
    /// connection is reserved for other requests if there are several.
    ///
    /// - Parameter isAlone: Whether the read has its own sync. No others follow until it is done, because each may use
    ///   its connection's full time limit.
    package func connectionForSearches(isAlone: Bool = false) -> Connection? {
        if !isAlone, let connection = connections.first(where: { $0.takesRead(isSearch: true) }) { return connection }
        return leastBusyForWrites(where: { $0.inFlight.batched == 0 && $0.inFlight.searches == 0 })
    }

    /// The connection for the next read of unknown cost, or nil if none is open or it carries reads that may take long.
    package var connectionForUnknown: Connection? {
        connections.last(where: \.takesRequests).flatMap { $0.inFlight.searches == 0 ? $0 : nil }
    }

    /// Returns the connection with the lowest load. The first one is reserved for reads if there are several.
    package func leastBusyForWrites(where isWanted: (Connection) -> Bool = { _ in true }) -> Connection? {
        let first = connections.first(where: \.takesRequests)
        let hasOthers = connections.contains { $0.takesRequests && $0 !== first }
        return leastBusy(where: { isWanted($0) && !(hasOthers && $0 === first) })
    }

    func leastBusy(where isWanted: (Connection) -> Bool = { _ in true }) -> Connection? {
        var best: Connection?
        var bestLoad = Int.max
        for connection in connections where connection.takesRequests && isWanted(connection) {
            let load = connection.inFlight.load(at: context.now)
            if load < bestLoad { (best, bestLoad) = (connection, load) }
        }
        return best
    }

    /// Sends waiting reads that may take long. Those that are known to be too slow or large for a shared connection
    /// fail, so that their callers use separate ones, and so do reads of unknown size if memory is full.
    func sendSearches() {
        while let request = searches.first {
            if !request.promise.isFulfilled {
                if isBarred(request) {
                    request.fail(.detour)
                } else {
                    guard let connection = connectionForSearches(isAlone: request.travelsAlone),
                        request.travelsAlone ? connection.send(request) : connection.sendInBatch(request)
                    else { return }
                }
            }
            searches.removeFirst()
        }
    }

    /// Whether a read must not use a shared connection.
    func isBarred(_ request: Request) -> Bool {
        guard let shape = historicShape(of: request) else { return false }
        return context.history.isBarred(shape, isSearch: request.isSearch, memoryIsFull: context.rows.isOverfull)
    }

    /// Returns the shape of a read that can have a history. Reads by key have none before the first large row.
    func historicShape(of request: Request) -> ReadShape? {
        request.isSearch || context.history.knowsLargeRows ? request.shape : nil
    }

    /// Stops reads that keep a connection too long. The server's response shows which read of a batch was stopped.
    func stopSlowSearches() {
        for connection in connections {
            guard let end = connection.patienceEnd, end <= context.now, let handle = connection.handle else { continue }
            connection.stoppedAt = context.now
            _ = context.cancellations.send(to: handle, lease: nil, through: context.commandQueue)
        }
    }
}
