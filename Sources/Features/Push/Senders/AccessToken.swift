import Outgoing

/// Caches the access token of a service account until shortly before it expires. Concurrent callers share one request.
actor AccessToken {
    private typealias Kept = (text: String, until: ContinuousClock.Instant)

    private let account: ServiceAccount
    private let caller: HTTPCaller
    private var kept: Kept?
    private var underWay: Task<Kept, any Error>?

    init(_ account: ServiceAccount, caller: HTTPCaller) {
        self.account = account
        self.caller = caller
    }

    /// Returns a valid token.
    ///
    /// - Parameter refused: A token that the service rejected, which is replaced.
    /// - Throws: `ServiceAccount.Failure`.
    func text(refused: String? = nil) async throws -> String {
        if let kept, kept.until > .now, kept.text != refused { return kept.text }
        let task =
            underWay
            ?? Task { [account, caller] in
                let token = try await account.token(for: "firebase.messaging", by: caller)
                return (token.text, .now + .seconds(max(token.lifetime - 300, 30)))
            }
        underWay = task
        defer { if underWay == task { underWay = nil } }
        let token = try await task.value
        kept = token
        return token.text
    }
}
