import HTTP
public import JSON
public import Operations
public import ParseModel
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

    /// What is called in the life of a file; nil for nothing.
    func fileTrigger(_ event: FileEvent) -> FileTrigger?

    /// Counts a download for which cloud code is called, for the limits that the code declares.
    ///
    /// - Throws: What says that there were too many.
    func count(download envelope: Envelope) async throws

    /// The present time.
    var now: ParseDate { get }

    /// The context of a request about a file.
    ///
    /// - Throws: `ParseError` 209 when the session token is not valid.
    func context(ofFile envelope: Envelope) async throws -> RequestContext

    /// The record of the caller's user as cloud code gets it; nil without a user.
    func userRecord(_ context: RequestContext) async throws -> JSONObject?
}

extension CallerResolver {
    /// That of the system.
    public var now: ParseDate { .now }

    /// Nothing: there is no cloud code.
    public func fileTrigger(_ event: FileEvent) -> FileTrigger? { nil }

    /// Nothing is counted.
    public func count(download envelope: Envelope) async throws {}

    public func context(ofFile envelope: Envelope) async throws -> RequestContext {
        RequestContext(
            caller: try await caller(of: envelope), mountURL: envelope.mountURL, now: now,
            address: envelope.origin.address, facts: envelope.origin)
    }

    public func userRecord(_ context: RequestContext) async throws -> JSONObject? { nil }
}

extension ParseRoutes: CallerResolver {
    public var now: ParseDate { backend.clock.now }

    public func caller(of envelope: Envelope) async throws -> Caller {
        guard envelope.method != .get else { return try await context(of: envelope).caller }
        let declared = declaredLimits?.limiter
        try await limits?.countByAddress(envelope)
        try await declared?.countByAddress(envelope)
        let caller = try await context(of: envelope).caller
        try await limits?.countByUser(envelope, caller.user)
        try await declared?.countByUser(envelope, caller.user)
        return caller
    }

    public func count(download envelope: Envelope) async throws {
        guard let declared = declaredLimits?.limiter else { return }
        try await declared.countByAddress(envelope)
        try await declared.countByUser(envelope, try await context(of: envelope).caller.user)
    }

    public func check(fileDetails details: JSONObject) throws {
        try configuration.requestKeywordDenylist.check(details)
    }

    public func fileTrigger(_ event: FileEvent) -> FileTrigger? { backend.triggers.fileTrigger(event) }

    public func context(ofFile envelope: Envelope) async throws -> RequestContext { try await context(of: envelope) }

    public func userRecord(_ context: RequestContext) async throws -> JSONObject? {
        try await backend.triggers.userRecord(context)
    }
}
