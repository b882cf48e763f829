import HTTP
public import JSON

/// What a request says about who is calling: keys, tokens and ids, as they came, none of them verified.
///
/// They come from headers, from HTTP Basic authentication, or from the reserved `_…` keys of a JSON body.
public struct Credentials: Sendable, Equatable {
    /// The application that the caller wants to reach.
    public var applicationID: String?
    /// The token of a user's session.
    public var sessionToken: String?
    /// The master key, or the read-only master key: both come in the same place.
    public var masterKey: String?
    /// The maintenance key.
    public var maintenanceKey: String?
    /// The installation (device) that the caller runs on.
    public var installationID: String?
    /// The client key.
    public var clientKey: String?
    /// The JavaScript key.
    public var javascriptKey: String?
    /// The .NET key.
    public var dotNetKey: String?
    /// The REST API key.
    public var restAPIKey: String?
    /// The SDK and its version, for instance `i1.19.2`.
    public var clientVersion: String?
    /// What the caller hands to triggers.
    public var context: JSONObject?
    /// The caller's own id for the request (`X-Parse-Request-Id`).
    public var requestID: String?

    /// Credentials that say nothing.
    public init() {}
}
