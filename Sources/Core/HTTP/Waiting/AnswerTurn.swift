/// Limits the consecutive requests of one connection, so that the other connections of its event loop get a turn.
package struct AnswerTurn {
    /// The maximum number of requests in a turn, and its maximum duration.
    package static let (maxRequests, maxTime) = (8, Duration.milliseconds(1))

    private let begin: ContinuousClock.Instant
    private var requests = 0

    package init(at now: ContinuousClock.Instant) { begin = now }

    /// Counts an answered request.
    ///
    /// - Parameter hasRequest: Whether another request waits. If not, a new turn begins.
    /// - Returns: Whether the other connections get their turn now.
    package mutating func isOver(hasRequest: Bool, at now: ContinuousClock.Instant) -> Bool {
        requests += 1
        guard hasRequest else {
            self = AnswerTurn(at: now)
            return false
        }
        return requests >= Self.maxRequests || now - begin >= Self.maxTime
    }
}
