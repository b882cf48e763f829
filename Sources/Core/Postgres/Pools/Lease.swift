import DequeModule

/// A connection lent to one caller.
///
/// `@unchecked Sendable`: callers only pass it back to the I/O thread, which alone uses its properties.
package final class Lease: @unchecked Sendable {
    unowned let pool: ExclusivePool
    let connection: Connection
    let request: LeaseRequest
    let begin: MonotonicInstant
    /// A statement to send before the caller's first one, or nil if it isn't needed or was already sent.
    var prelude: EncodedStatement?
    /// Requests that cannot be sent yet.
    var pending: Deque<Request> = []
    /// Whether a cancel request is on its way. Nothing is sent meanwhile, because the server could cancel that instead.
    var isCancelling = false
    /// The time of the next cancel request if the statement is still running.
    var cancelAgain: MonotonicInstant?
    var cancelPause = BackOff()
    /// Whether the pool ended the lease, because it timed out or other senders waited too long. Its requests then fail.
    var isExpired = false
    /// Whether the pool got the connection back before the caller released it.
    var isBrokenOff = false
    /// Whether the pool ended the lease but doesn't have the connection back yet.
    var isBeingStopped: Bool { isExpired && !isBrokenOff && failure == nil }
    /// The error that made the connection unusable, or nil if it works.
    var failure: PostgresError?
    var isReleased = false
    /// Whether the caller released the lease and the pool has the connection back or lost it.
    var isOver = false
    /// Whether a transaction that was left open is being rolled back.
    var isRollingBack = false
    /// The request to fulfill once the connection is clean, or nil if no caller waits for that.
    var releaseRequest: WaitRequest?

    init(in pool: ExclusivePool, _ connection: Connection, for request: LeaseRequest, at begin: MonotonicInstant) {
        self.pool = pool
        self.begin = begin
        self.connection = connection
        self.request = request
        prelude = request.prelude
    }
}
