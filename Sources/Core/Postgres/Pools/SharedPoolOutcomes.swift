import Limits

/// Handles the server's response to a request: returns it to the caller, resends the request or redirects it.
extension SharedPool {
    /// A change is sent alone once it was rolled back more often than this because of other changes.
    private static let maxUndoings = 3

    package func didFinish(_ request: Request, on connection: Connection) {
        if connection.isInTransaction {
            // A statement unexpectedly opened a transaction. Neighboring requests must not become part of it.
            connection.fail(PostgresError(.connectionLost, "the connection was lost: a transaction was left open"))
        }
        switch request.sending.outcome {
        case .good: request.finish()
        case .skipped:
            request.travelsAlone = true
            submit(request)
        case .failed(let error, _): didFail(request, error, on: connection)
        }
    }

    private func didFail(_ request: Request, _ error: PostgresError, on connection: Connection) {
        if error.isOverdue, request.isReadOnly {
            if mayBeStruck(request, on: connection) {
                // A late cancellation of another request may have stopped this one, so it is resent alone.
                request.strikes += 1
                request.travelsAlone = true
                return submit(request)
            }
            if let shape = request.shape {
                context.history.record(isSlow: true, shape)
                return request.fail(.detour)
            }
        }
        if error.isFromReadOnlyServer {
            connection.handleError(error)
            if request.members.isEmpty {
                if connection.isOutdated, request.attempts < 4, !request.hasEndedTransaction, !context.isStopping {
                    return submit(request)
                }
                var error = error
                error.kind = .connectionLost
                return request.fail(error)
            }
        }
        if !request.members.isEmpty {
            if error.isStaleStatement { connection.dropStatements(of: request) }
            return sendAgain(request.members, besides: request.sending.failedMember, error)
        }
        if error.isStaleStatement, request.attempts < 4, !request.hasEndedTransaction {
            connection.dropStatements(of: request)
            return submit(request)
        }
        if error.isConflict, request.attempts < 6, !request.hasEndedTransaction, !context.isStopping {
            let pause = Duration.milliseconds(Int.random(in: 1...(2 << request.attempts)))
            return postponed.append((context.now.after(pause), request))
        }
        if error.isLockTimeout || error.isOverdue {
            lockedKeys.record(request.conflictKey, at: context.now)
        } else {
            refusals.record(request.caller, at: context.now)
        }
        request.finish()
    }

    /// Whether a late cancellation of an earlier request may have stopped this one, and it can be resent.
    private func mayBeStruck(_ request: Request, on connection: Connection) -> Bool {
        guard let asked = connection.stoppedAt, !asked.isOlder(than: Self.lateness, at: context.now) else {
            return false
        }
        return !(request.wasSlow && request.shape != nil) && !request.promise.isFulfilled
            && !request.hasEndedTransaction && request.strikes < 2 && !context.isStopping
    }

    /// The milliseconds after which a cancel request is assumed to have arrived.
    private static let lateness: Int64 = 5000

    /// Resends changes of a failed transaction: alone if the change or the commit failed or after more than three
    /// rollbacks, otherwise together. A change with a lock or statement timeout fails instead.
    private func sendAgain(_ members: [Request], besides failed: Int?, _ error: PostgresError) {
        var undone: [Request] = []
        for (index, member) in members.enumerated() {
            member.undoings += 1
            if index == failed, error.isLockTimeout || error.isOverdue {
                // The caller repeats it on a connection where it may wait.
                lockedKeys.record(member.conflictKey, at: context.now)
                member.fail(error)
            } else if failed != nil, index != failed, member.undoings <= Self.maxUndoings {
                undone.append(member)
            } else {
                member.travelsAlone = true
                submit(member)
            }
        }
        changes.putBack(undone)
    }
}
