/// The requests of one connection that are answered in a row, while the other connections of its event loop wait.
struct AnswerTurn {
    /// The most requests of a turn, and how long it takes.
    static let (mostRequests, mostTime) = (8, Duration.milliseconds(1))

    private let begin: ContinuousClock.Instant
    private var requests = 0

    init(at now: ContinuousClock.Instant) { begin = now }

    /// Counts an answered request.
    ///
    /// - Parameter hasRequest: Whether another one waits. If not, the connection has no turn to give up.
    /// - Returns: Whether others are to have their turn now.
    mutating func isOver(hasRequest: Bool, at now: ContinuousClock.Instant) -> Bool {
        requests += 1
        guard hasRequest else {
            self = AnswerTurn(at: now)
            return false
        }
        return requests >= Self.mostRequests || now - begin >= Self.mostTime
    }
}
