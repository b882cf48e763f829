import DequeModule

/// Statements on lent connections, and their cancellation.
extension ExclusivePool {
    /// Sends a request on a lent connection as soon as possible, or fails it if the lease has ended.
    package func submit(_ request: Request, on lease: Lease) {
        guard !lease.isReleased else {
            return request.fail(PostgresError(.server, "the connection was already released", sqlState: "08003"))
        }
        if let failure = lease.failure { return request.fail(failure) }
        if request.isCancelled { return request.fail(.cancelled) }
        if lease.isExpired { return request.fail(.tookTooLong) }
        lease.pending.append(request)
        pump(lease)
    }

    func pump(_ lease: Lease) {
        while let request = lease.pending.first, !lease.isCancelling, lease.connection.scriptPhase == nil {
            switch request.content {
            case .commit where lease.prelude != nil:
                // The caller ran no statement, so the transaction was never begun.
                lease.pending.removeFirst()
                request.finish()
                continue
            case .script where !lease.connection.inFlight.isEmpty: return
            default: break
            }
            lease.pending.removeFirst()
            let prelude = lease.prelude.take()
            if !lease.connection.send(request, prelude: prelude) { request.fail(lost(lease.connection.failure)) }
        }
    }

    func lost(_ reason: PostgresError?) -> PostgresError {
        var error = reason ?? PostgresError(.connectionLost, "the connection was lost")
        error.kind = .connectionLost
        return error
    }

    package func didFinish(_ request: Request, on connection: Connection) {
        guard let lease = lease(of: connection) else { return request.finish() }
        if var error = request.sending.error {
            if error.isStaleStatement {
                connection.dropStatements(of: request)
                let canRepeat = !connection.isInTransaction && !request.hasEndedTransaction && request.attempts < 4
                if canRepeat, lease.pending.isEmpty, connection.inFlight.isEmpty, connection.send(request) { return }
            }
            if error.isFromReadOnlyServer {
                connection.handleError(error)
                error.kind = .connectionLost
            }
            if request.isCancelled, error.sqlState == "57014" {
                if lease.isExpired { error = .tookTooLong } else { error.kind = .cancelled }
            }
            request.fail(error)
        } else {
            request.finish()
        }
        proceed(lease)
    }

    func lease(of connection: Connection) -> Lease? {
        leases.first { $0.connection === connection && !$0.isBrokenOff }
    }

    // MARK: Cancelling

    package func didOutgrow(_ connection: Connection, _ handle: OpaquePointer) {
        guard let lease = lease(of: connection), let head = connection.inFlight.first else { return }
        // A write outside a transaction may have committed already, so it must not be reported as failed.
        guard head.isReadOnly || !keepsWrites else { return }
        head.promise.fulfill(.failure(head.sizeLimit < .max ? .detour : .tooLarge))
        head.isCancelled = true
        cancelHead(lease)
    }

    /// Stops a request: removes it from the queue, or asks the server to cancel it if it was sent.
    func cancel(_ request: Request, on lease: Lease) {
        request.isCancelled = true
        guard !lease.isOver, !request.promise.isFulfilled else { return }
        if let index = lease.pending.firstIndex(where: { $0 === request }) {
            lease.pending.remove(at: index)
            return request.fail(.cancelled)
        }
        cancelHead(lease)
    }

    /// Ends a lease that is overdue or must give way to other senders. The server cancels its statement and rolls back,
    /// pending requests fail, and the pool gets the connection back.
    func expire(_ lease: Lease) {
        lease.isExpired = true
        for request in lease.pending { request.fail(.tookTooLong) }
        lease.pending.removeAll()
        for request in lease.connection.inFlight.requests { request.isCancelled = true }
        proceed(lease)
    }

    /// Asks the server to cancel the running statement if its request was cancelled.
    func cancelHead(_ lease: Lease) {
        lease.cancelAgain = nil
        guard let head = lease.connection.inFlight.first, head.isCancelled, !lease.isCancelling,
            lease.failure == nil, let handle = lease.connection.handle
        else { return }
        lease.isCancelling = context.cancellations.send(to: handle, lease: lease, through: context.commandQueue)
        if !lease.isCancelling { lease.cancelAgain = context.now.after(lease.cancelPause.next()) }
    }

    /// Handles a sent cancel request. If the statement hadn't started yet, the server ignored the cancel request and
    /// must be asked again.
    func didSendCancel(for lease: Lease) {
        guard !lease.isOver else { return }
        lease.isCancelling = false
        if lease.connection.inFlight.first?.isCancelled == true {
            lease.cancelAgain = context.now.after(lease.cancelPause.next())
        }
        proceed(lease)
    }
}
