import Encoding
import HTTP
public import JSON
import ParseModel

/// Finds the credentials of a request: in the headers, in HTTP Basic authentication, or, when those do not name this
/// application, in the reserved keys of the JSON body.
struct CredentialReader: Sendable {
    /// The keys that are right; only the application id matters here.
    let keys: ApplicationKeys

    private static let maximumContextDepth = 200

    /// What a body said besides the credentials.
    struct BodyFindings {
        var contentType: String?
    }

    /// Reads the headers; throws `ParseError` 107 when the context is not a JSON object.
    func read(headers: RequestHeaders) throws -> Credentials {
        var credentials = Credentials()
        // A field that comes twice counts as one with a comma in it, which no key has.
        credentials.applicationID = headers[.parseApplicationID]
        credentials.sessionToken = headers[.parseSessionToken]
        credentials.masterKey = headers[.parseMasterKey]
        credentials.maintenanceKey = headers[.parseMaintenanceKey]
        credentials.installationID = headers[.parseInstallationID]
        credentials.clientKey = headers[.parseClientKey]
        credentials.javascriptKey = headers[.parseJavascriptKey]
        credentials.dotNetKey = headers[.parseWindowsKey]
        credentials.restAPIKey = headers[.parseRESTAPIKey]
        credentials.clientVersion = headers[.parseClientVersion]
        credentials.requestID = headers[.parseRequestID]
        credentials.context = try headers[.parseCloudContext].map(Self.context)
        if let authorization = headers[.authorization] { readBasic(authorization, into: &credentials) }
        return credentials
    }

    /// Completes the credentials from a JSON body if the headers did not name this application, and takes them out of
    /// the body. A body beside valid headers only loses what no class can have as a field and no route reads.
    ///
    /// - Returns: What else the body said about the request.
    /// - Throws: ``HTTPError/unauthorized`` when the body does not name the application either or a credential is not a
    ///   string; `ParseError` 209 for a session token that is none, 107 when the context is not a JSON object.
    @discardableResult
    func complete(_ credentials: inout Credentials, from body: inout JSONObject) throws -> BodyFindings {
        let isNamed = keys.serves(credentials.applicationID)
        if isNamed, body.isEmpty { return BodyFindings() }
        body["_noBody"] = nil
        body["_RevocableSession"] = nil
        if isNamed {
            body["_ClientVersion"] = nil
            return BodyFindings()
        }
        guard let applicationID = try Self.take("_ApplicationId", from: &body), keys.serves(applicationID),
            credentials.masterKey.map({ ApplicationKeys.matches($0, keys.masterKey) }) ?? true
        else { throw HTTPError.unauthorized }
        credentials.applicationID = applicationID
        credentials.javascriptKey = try Self.take("_JavaScriptKey", from: &body)
        try Self.move("_ClientVersion", from: &body, to: &credentials.clientVersion)
        try Self.move("_InstallationId", from: &body, to: &credentials.installationID)
        if let token = body["_SessionToken"], !token.isFalsy, token.stringValue == nil {
            throw ParseError(ParseError.invalidSessionToken, "Invalid session token")
        }
        try Self.move("_SessionToken", from: &body, to: &credentials.sessionToken)
        try Self.move("_MasterKey", from: &body, to: &credentials.masterKey)
        if let context = body.removeValue(forKey: "_context"), !context.isFalsy {
            credentials.context = try Self.context(context)
        }
        return BodyFindings(contentType: try Self.take("_ContentType", from: &body))
    }

    /// Removes a credential from a body. One that is false in JavaScript is neither used nor removed.
    private static func take(_ key: String, from body: inout JSONObject) throws -> String? {
        guard let value = body[key], !value.isFalsy else { return nil }
        guard case .string(let text) = value else { throw HTTPError.unauthorized }
        body[key] = nil
        return text
    }

    /// Takes a credential from a body. Without one, the header's stays.
    private static func move(_ key: String, from body: inout JSONObject, to credential: inout String?) throws {
        if let text = try take(key, from: &body) { credential = text }
    }

    private static func context(_ value: JSONValue) throws -> JSONObject {
        switch value {
        case .object(let object): object
        case .string(let text): try context(text)
        default: throw malformedContext
        }
    }

    private static func context(_ text: String) throws -> JSONObject {
        guard case .object(let object)? = try? JSONValue(parsing: Array(text.utf8), maximumDepth: maximumContextDepth)
        else { throw malformedContext }
        return object
    }

    private static let malformedContext = ParseError(ParseError.invalidJSON, "Invalid object for context.")

    /// The first `Basic` header: the user is the application id, the password the master key or `javascript-key=` and
    /// that key.
    private func readBasic(_ authorization: String, into credentials: inout Credentials) {
        let parts = authorization.utf8.prefix { $0 != UInt8(ascii: ",") }.split(
            separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, Substring(parts[0]).asciiLowercased == "basic" else { return }
        let decoded = String(decoding: Base64.decode(parts[1]), as: UTF8.self)
        guard let colon = decoded.utf8.firstIndex(of: UInt8(ascii: ":")) else { return }
        let applicationID = String(Substring(decoded.utf8[..<colon]))
        guard keys.serves(applicationID) else { return }
        credentials.applicationID = applicationID
        let password = String(Substring(decoded.utf8[decoded.utf8.index(after: colon)...]))
        if let key = password.dropping(prefix: Self.javascriptKeyPrefix) {
            credentials.javascriptKey = key
        } else if !password.isEmpty {
            credentials.masterKey = password
        }
    }

    private static let javascriptKeyPrefix = "javascript-key="
}

extension JSONValue {
    /// Whether JavaScript takes the value for false.
    var isFalsy: Bool {
        switch self {
        case .null, .bool(false): true
        case .number(let number): number == 0 || number.isNaN
        case .string(let text): text.isEmpty
        default: false
        }
    }
}

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
