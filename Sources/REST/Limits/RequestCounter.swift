/// Requests that are to be counted for a limit.
struct RequestDemand: Sendable {
    /// The number of the limit.
    let limit: Int
    /// Who sent them; empty for everybody.
    let sender: [UInt8]
    /// How many.
    var amount: Int
}

/// What was counted for a limit.
struct RequestCount: Sendable {
    /// How many requests there were since the count began, those just counted included.
    let requests: Int
    /// In how many milliseconds the count begins anew.
    let remaining: Int
}

/// Keeps how many requests there were.
protocol RequestCounter: Sendable {
    /// Counts requests.
    ///
    /// - Parameter demands: No two of one limit and sender.
    /// - Returns: A count for each.
    func take(_ demands: [RequestDemand]) async throws -> [RequestCount]
}
