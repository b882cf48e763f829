/// Which of the shared connections a request is sent on, and when reads that may take long have to leave theirs.
extension SharedPool {
    /// Whether changes are under way that the next ones wait for.
    var isBusyWithChanges: Bool { connections.contains { $0.inFlight.isBusyWithChanges(at: context.now) } }

    /// The connection for the next that only read: not one with a write before them, whose commit they would wait for, if
    /// there is any other; nil when all have a batch of reads under way.
    package func connectionForReads() -> Connection? {
        if let connection = connections.first(where: { $0.takesRead(isSearch: false) }) { return connection }
        let isAnyQuiet = connections.contains { $0.takesRequests && $0.inFlight.writes == 0 }
        return leastBusy(where: { $0.inFlight.batched == 0 && !(isAnyQuiet && $0.inFlight.writes > 0) })
    }

    /// The connection for the next reads that may take long: the first is left to others, if there are more.
    ///
    /// - Parameter isAlone: Whether the statement doesn't share a sync. Others don't follow until it is done, since
    ///   each may use its connection's full time.
    package func connectionForSearches(isAlone: Bool = false) -> Connection? {
        if !isAlone, let connection = connections.first(where: { $0.takesRead(isSearch: true) }) { return connection }
        return leastBusyForWrites(where: { $0.inFlight.batched == 0 && $0.inFlight.searches == 0 })
    }

    /// The connection for the next read of unknown cost, or nil if reads that may take long are before it.
    package var connectionForUnknown: Connection? {
        connections.last(where: \.takesRequests).flatMap { $0.inFlight.searches == 0 ? $0 : nil }
    }

    /// The connection with the fewest before it, but not the first if there are others: that one is left to reads.
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

    /// Sends as many of the reads that may take long as there is room for. Where others like them turned out to do so, or
    /// rows fill the memory, they go another way.
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

    /// Whether reads like one go another way.
    func isBarred(_ request: Request) -> Bool {
        guard let shape = request.shape else { return false }
        return context.history.isBarred(shape, isSearch: request.isSearch, memoryIsFull: context.rows.isOverfull)
    }

    /// Stops reads that keep a connection for too long. Which of a batch that is, the server's answer says.
    func stopSlowSearches() {
        for connection in connections {
            guard let end = connection.patienceEnd, end <= context.now, let handle = connection.handle else { continue }
            connection.stoppedAt = context.now
            _ = context.cancellations.send(to: handle, lease: 0, through: context.commandQueue)
        }
    }
}
