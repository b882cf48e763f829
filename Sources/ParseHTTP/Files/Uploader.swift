public import JSON

/// Who wants to upload or download a file.
public enum Uploader: Sendable, Equatable {
    /// A caller with the master key.
    case master
    /// A caller with the maintenance key.
    case maintenance
    /// A caller with the read-only master key.
    case readOnlyMaster
    /// A user who logged in.
    case user
    /// An anonymous user.
    case anonymousUser
    /// A caller without a session.
    case publicCaller
}

/// Finds out who a caller is, for the routes that answer before the ordinary ones.
public protocol CallerResolver: Sendable {
    /// Looks up the session of a request.
    ///
    /// - Throws: `ParseError` 209 when the session token is not valid.
    func uploader(for envelope: Envelope) async throws -> Uploader

    /// Checks what a client wants to store with a file.
    ///
    /// - Parameter details: The metadata or the tags.
    /// - Throws: `ParseError` 105 when a keyword in it is not allowed.
    func check(fileDetails details: JSONObject) throws
}
