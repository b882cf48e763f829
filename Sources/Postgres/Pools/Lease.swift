import Collections
import Tasks

/// A connection while one caller has it alone. Only the I/O thread touches it.
final class Lease {
    let number: Int
    let connection: Connection
    /// On whose behalf it was lent.
    let sender: Sender
    /// The conflict key of the request that it was lent for.
    let conflictKey: ConflictKey?
    /// When it has been lent for long enough; nil where there is no limit.
    let end: MonotonicInstant?
    /// What is still to be sent before the first statement.
    var prelude: EncodedStatement?
    /// Requests that cannot be sent yet.
    var pending: Deque<Request> = []
    /// Whether the server is being asked to cancel, so that nothing new may be sent which it could stop instead.
    var isCancelling = false
    /// When to ask the server again, if what shall stop goes on.
    var cancelAgain: MonotonicInstant?
    var cancelPause = BackOff()
    /// Whether its time is over, so that nothing more is sent.
    var isExpired = false
    /// Whether the connection went to others, since the time was over.
    var isBrokenOff = false
    /// Why the connection can no longer be used.
    var failure: PostgresError?
    /// Whether it was given back.
    var isReleased = false
    /// Whether a transaction that was left open is being undone.
    var isRollingBack = false
    /// The task that waits until the connection is clean again.
    var releaseRequest: ReleaseRequest?

    init(number: Int, connection: Connection, for request: LeaseRequest) {
        self.number = number
        self.connection = connection
        prelude = request.prelude
        sender = request.sender
        conflictKey = request.conflictKey
        end = request.end
    }
}
