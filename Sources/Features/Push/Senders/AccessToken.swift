import Outgoing

/// Caches the access token of a service account until shortly before it expires. Concurrent callers share one request.
actor AccessToken {
    private typealias Cached = (text: String, until: ContinuousClock.Instant)

    private let account: ServiceAccount
    private let caller: HTTPCaller
    private var cached: Cached?
    private var underWay: Task<Cached, any Error>?

    init(_ account: ServiceAccount, caller: HTTPCaller) {
        self.account = account
        self.caller = caller
    }

    /// Returns a valid token.
    ///
    /// - Parameter refused: A token that the service rejected, which is replaced.
    /// - Throws: `ServiceAccount.Failure`.
    func text(refused: String? = nil) async throws -> String {
        if let cached, cached.until > .now, cached.text != refused { return cached.text }
        let task =
            underWay
            ?? Task { [account, caller] in
                let token = try await account.token(for: "firebase.messaging", by: caller)
                return (token.text, .now + .seconds(max(token.lifetime - 300, 30)))
            }
        underWay = task
        defer { if underWay == task { underWay = nil } }
        let token = try await task.value
        cached = token
        return token.text
    }
}
