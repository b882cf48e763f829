import DequeModule
import Tasks

/// A connection while one caller has it alone. Only the I/O thread touches it.
final class Lease {
    let number: Int
    let connection: Connection
    let request: LeaseRequest
    let begin: MonotonicInstant
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
    /// Whether the lease has timed out but its statement is still running.
    var isBeingStopped: Bool { isExpired && !isBrokenOff && failure == nil }
    /// Why the connection can no longer be used.
    var failure: PostgresError?
    var isReleased = false
    /// Whether a transaction that was left open is being undone.
    var isRollingBack = false
    /// The task that waits until the connection is clean again.
    var releaseRequest: WaitRequest?

    init(number: Int, connection: Connection, for request: LeaseRequest, at begin: MonotonicInstant) {
        self.number = number
        self.begin = begin
        self.connection = connection
        self.request = request
        prelude = request.prelude
    }
}
