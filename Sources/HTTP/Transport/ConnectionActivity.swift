/// What is under way on a connection: whether it owes answers, and since when it has been idle.
struct ConnectionActivity {
    /// The requests that were begun and are not answered yet.
    private var requests = 0
    /// When the last request was answered, or the connection was opened.
    private var idleSince: ContinuousClock.Instant
    /// Whether the server shuts down.
    private var isQuiescing = false
    /// Whether no more requests are answered.
    private var hasEnded = false

    /// The activity of a connection that was just opened.
    init(at now: ContinuousClock.Instant) {
        idleSince = now
    }

    /// Notes that a request has come.
    mutating func beginRequest() {
        requests += 1
    }

    /// Notes that a request has been answered.
    ///
    /// - Returns: Whether the server shuts down, and this was the last one that it owes an answer.
    mutating func finishRequest(at now: ContinuousClock.Instant) -> Bool {
        requests -= 1
        idleSince = now
        return isQuiescing && requests == 0
    }

    /// Notes that the last answer was given, whatever the client goes on sending.
    mutating func end(at now: ContinuousClock.Instant) {
        hasEnded = true
        idleSince = now
    }

    /// Notes that the server shuts down.
    ///
    /// - Returns: Whether the connection is not needed any more.
    mutating func quiesce() -> Bool {
        isQuiescing = true
        return requests == 0
    }

    /// Since when nothing has been under way; nil while something is.
    var idleTime: ContinuousClock.Instant? {
        requests == 0 || hasEnded ? idleSince : nil
    }

    /// Whether nothing is under way, and has not been since some moment.
    func isIdle(since moment: ContinuousClock.Instant) -> Bool {
        idleTime.map { $0 < moment } ?? false
    }
}
