/// Reads that may take long, on the shared connections.
extension SharedPool {
    /// How long the first of the reads that may take long keeps a connection at most, in milliseconds, and how much longer
    /// for each that shares its batch: nothing is heard of any before the last.
    static let patience: Int64 = 50
    private static let patienceInBatch: Int64 = 10

    /// When what is under way on a connection is to be stopped, and carried out elsewhere; nil for never.
    func patienceEnd(of connection: Connection) -> MonotonicInstant? {
        guard connection.searches > 0, connection.inFlight.first?.isSearch == true else { return nil }
        let patience = Duration.milliseconds(
            Self.patience + Self.patienceInBatch * Int64(max(0, connection.batched - 1)))
        let since = max(connection.headSince, connection.stoppedAt ?? connection.headSince)
        return since.after(patience)
    }

    /// The connection for the next reads that may take long: the first is left to others, if there are more.
    func connectionForSearches() -> Connection? {
        if let connection = connections.first(where: { $0.takesRead(isSearch: true) }) { return connection }
        return leastBusyForWrites(where: { $0.batched == 0 })
    }

    /// Sends as many of the reads that may take long as there is room for. Where others like them turned out to do so, or
    /// rows fill the memory, they go another way.
    func sendSearches() {
        while let request = searches.first {
            if !request.promise.isFulfilled {
                if isBarred(request) {
                    request.fail(.detour)
                } else {
                    guard let connection = connectionForSearches(), connection.sendInBatch(request) else { return }
                }
            }
            searches.removeFirst()
        }
    }

    /// Whether reads like one go another way.
    func isBarred(_ request: Request) -> Bool {
        guard let shape = request.shape else { return false }
        return context.history.isBarred(
            shape, isSearch: request.isSearch, memoryIsFull: context.rows.isOverfull)
    }

    /// Stops reads that keep a connection for too long. Which of a batch that is, the server's answer says.
    func stopSlowSearches() {
        for connection in connections {
            guard let end = patienceEnd(of: connection), end <= context.now, let handle = connection.handle else {
                continue
            }
            connection.stoppedAt = context.now
            _ = context.cancellations.send(to: handle, lease: 0, through: context.commandQueue)
        }
    }
}
