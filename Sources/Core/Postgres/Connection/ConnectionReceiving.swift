import CLibpq

extension Connection {
    func receive() {
        lastSign = context.now
        let isOpen = watch.receive(from: socket) { [handle] in PQconsumeInput(handle) == 1 }
        // Reads results even if the connection was closed, because the last results and messages may have arrived with
        // its end.
        let before = resultsReceived
        receiveResults()
        watchResult(hasCome: resultsReceived != before)
        while failure == nil, let notification = PQnotifies(handle) {
            pool.didNotify(
                self, channel: String(cString: notification.pointee.relname),
                payload: String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        if !isOpen || PQstatus(handle) == CONNECTION_BAD { failWithLibpqMessage() }
    }

    /// Reports an incoming result that exceeds a size limit to the pool, which stops it if that is safe.
    private func watchResult(hasCome: Bool) {
        guard !hasCome, let head = inFlight.first, failure == nil else {
            watch = ResultWatch()
            isOutgrown = false
            return
        }
        let isBeyond = watch.isBeyond(context.configuration.resultLimit) || watch.isBeyond(expected: head.sizeLimit)
        guard isBeyond, !isOutgrown, let handle else { return }
        isOutgrown = true
        // The result may be a single row, for which libpq allocates a large buffer.
        isSwollen = true
        stoppedAt = context.now
        pool.didOutgrow(self, handle)
    }

    private func receiveResults() {
        // One NULL ends the results of each statement. Two in a row mean that no more have arrived.
        var ends = 0
        while ends < 2, failure == nil, !inFlight.isEmpty, PQisBusy(handle) == 0 {
            if let result = PQgetResult(handle) {
                ends = 0
                receive(result)
            } else if let scriptPhase {
                proceedWithScript(scriptPhase)
            } else {
                ends += 1
            }
        }
    }

    private func receive(_ result: OpaquePointer) {
        resultsReceived += 1
        // libpq receives each row completely before it adds the row to the result.
        if Int(PQresultMemorySize(result)) / max(1, Int(PQntuples(result))) > Self.largeMessage { isSwollen = true }
        guard let request = inFlight.first else { return PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            if request.sending.receiveResult() {
                request.results.append(PostgresResult(result, notices: context.notices))
            } else {
                PQclear(result)
            }
        case PGRES_PIPELINE_SYNC:
            PQclear(result)
            return finishHead()
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
            request.sending.receiveFailure(nil)
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            PQclear(result)
            // The connection now waits for data that never comes, so it is unusable.
            _ = inFlight.popFirst(at: context.now)
            request.sending.receiveFailure(PostgresError(.server, "COPY is not supported", sqlState: "0A000"))
            fail(PostgresError(.connectionLost, "connection lost: it was left in COPY"))
            return pool.didFinish(request, on: self)
        default: receiveError(result, request)
        }
        if request.sending.isOver, failure == nil { finishHead() }
    }

    private func receiveError(_ result: OpaquePointer, _ request: Request) {
        defer { PQclear(result) }
        var error = PostgresError(result)
        let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))).map { String(cString: $0) }
        if severity == "FATAL" || severity == "PANIC" || PQstatus(handle) == CONNECTION_BAD {
            // The server closes the connection, so the request counts as lost.
            error.kind = .connectionLost
            error.message = "the connection was lost: \(error.message)"
            return fail(error)
        }
        if scriptPhase == .rollingBack || scriptPhase == .resetting { return failWithLibpqMessage() }
        request.sending.receiveFailure(error)
    }

    /// Finishes the first request, which has all its results.
    func finishHead() {
        guard let request = inFlight.popFirst(at: context.now) else { return }
        for preparation in request.sending.preparations { cache.remove(preparation.statement) }
        if case .greeting = state { return didGreet(request) }
        pool.didFinish(request, on: self)
    }
}
