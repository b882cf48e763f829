import JSON

/// Caches an access token until shortly before it expires. Concurrent callers share one request.
public actor AccessToken {
    /// A token, and the time at which it is replaced.
    public typealias Fetched = (text: String, until: ContinuousClock.Instant)

    private let fetch: @Sendable () async throws -> Fetched
    private var cached: Fetched?
    private var underWay: Task<Fetched, any Error>?

    /// - Parameter fetch: Requests a token.
    public init(_ fetch: @escaping @Sendable () async throws -> Fetched) { self.fetch = fetch }

    /// Returns a valid token.
    ///
    /// - Throws: The error of the request.
    public func text() async throws -> String {
        if let cached, cached.until > .now { return cached.text }
        let task = underWay ?? Task { [fetch] in try await fetch() }
        underWay = task
        defer { if underWay == task { underWay = nil } }
        let token = try await task.value
        if underWay == task { cached = token }
        return token.text
    }

    /// Drops a token that the service rejected, because it may have been revoked.
    public func forget(_ token: String) {
        if cached?.text.hasSameBytes(as: token) == true { cached = nil }
    }
}
