import HTTP
public import JSON
public import Rules

/// Finds out who a caller is, for the routes that answer before the ordinary ones.
public protocol CallerResolver: Sendable {
    /// Looks up the session of a request, and counts one that changes files.
    ///
    /// - Throws: `ParseError` 209 when the session token is not valid; what says that there were too many requests.
    func caller(of envelope: Envelope) async throws -> Caller

    /// Checks what a client wants to store with a file.
    ///
    /// - Parameter details: The metadata or the tags.
    /// - Throws: `ParseError` 105 when a keyword in it is not allowed.
    func check(fileDetails details: JSONObject) throws
}

extension ParseRoutes: CallerResolver {
    public func caller(of envelope: Envelope) async throws -> Caller {
        guard let limits, envelope.method != .get else { return try await context(of: envelope).caller }
        try await limits.countByAddress(envelope)
        let caller = try await context(of: envelope).caller
        try await limits.countByUser(envelope, caller.user)
        return caller
    }

    public func check(fileDetails details: JSONObject) throws {
        try configuration.requestKeywordDenylist.check(details)
    }
}
