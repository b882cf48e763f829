import ParseStorage
import ServerConfiguration

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

/// Counts in PostgreSQL, for all processes over the database.
struct DatabaseCounter: RequestCounter {
    private let store: ObjectStore
    /// What the keys of each limit begin with.
    private let prefixes: [String]
    private let windows: [Int]

    init(limits: [RateLimit], store: ObjectStore) {
        self.store = store
        prefixes = limits.map { $0.identity + " " }
        windows = limits.map(\.window)
    }

    func take(_ demands: [RequestDemand]) async throws -> [RequestCount] {
        let counts = try await store.countRequests(
            demands.map { demand in
                let sender = demand.sender.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
                return CountedRequests(
                    key: prefixes[demand.limit] + sender, amount: demand.amount, window: windows[demand.limit])
            })
        return counts.map { RequestCount(requests: $0.requests, remaining: $0.remaining) }
    }
}
