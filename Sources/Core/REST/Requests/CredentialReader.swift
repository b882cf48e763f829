import Encoding
import HTTP
public import JSON
import ParseModel

/// Reads a request's credentials from the headers, HTTP Basic authentication or, if those don't name this application,
/// the reserved keys of the JSON or form body.
struct CredentialReader: Sendable {
    let keys: ApplicationKeys

    private static let maximumContextDepth = 200

    /// Reads the credentials in the headers.
    ///
    /// - Throws: `ParseError` 107 if the context isn't a JSON object.
    func read(headers: RequestHeaders) throws -> Credentials {
        var credentials = Credentials()
        // The values of a repeated field are joined by commas, so they match no key.
        credentials.applicationID = headers[.parseApplicationID]
        credentials.sessionToken = headers[.parseSessionToken]
        credentials.masterKey = headers[.parseMasterKey]
        credentials.maintenanceKey = headers[.parseMaintenanceKey]
        credentials.installationID = headers[.parseInstallationID].flatMap { $0.isEmpty ? nil : $0 }
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

    /// Completes the credentials from a body if the headers don't name this application, and removes them from it. If
    /// the headers name the application, only removes a few reserved keys, which can't be fields of a class.
    ///
    /// - Returns: The content type of an upload (`_ContentType`), or nil if the body contains none.
    /// - Throws: ``HTTPError/unauthorized`` if the body doesn't name the application either, the header's master key is
    ///   wrong or a credential isn't a string; `ParseError` 209 if the session token isn't a string, or 107 if the
    ///   context isn't a JSON object.
    @discardableResult
    func complete(_ credentials: inout Credentials, from body: inout JSONObject) throws -> String? {
        let isNamed = keys.serves(credentials.applicationID)
        if isNamed, body.isEmpty { return nil }
        body["_noBody"] = nil
        body["_RevocableSession"] = nil
        if isNamed {
            body["_ClientVersion"] = nil
            return nil
        }
        guard let applicationID = try Self.remove("_ApplicationId", from: &body), keys.serves(applicationID),
            credentials.masterKey.map({ ApplicationKeys.matches($0, keys.masterKey) }) ?? true
        else { throw HTTPError.unauthorized }
        credentials.applicationID = applicationID
        credentials.javascriptKey = try Self.remove("_JavaScriptKey", from: &body)
        try Self.move("_ClientVersion", from: &body, to: &credentials.clientVersion)
        try Self.move("_InstallationId", from: &body, to: &credentials.installationID)
        if let token = body["_SessionToken"], token.isTruthy, token.stringValue == nil {
            throw ParseError(ParseError.invalidSessionToken, "Invalid session token")
        }
        try Self.move("_SessionToken", from: &body, to: &credentials.sessionToken)
        try Self.move("_MasterKey", from: &body, to: &credentials.masterKey)
        if let context = body.removeValue(forKey: "_context"), context.isTruthy {
            credentials.context = try Self.context(context)
        }
        return try Self.remove("_ContentType", from: &body)
    }

    /// Removes a credential from a body and returns it. Ignores and keeps values that are falsy in JavaScript.
    private static func remove(_ key: String, from body: inout JSONObject) throws -> String? {
        guard let value = body[key], value.isTruthy else { return nil }
        guard case .string(let text) = value else { throw HTTPError.unauthorized }
        body[key] = nil
        return text
    }

    private static func move(_ key: String, from body: inout JSONObject, to credential: inout String?) throws {
        if let text = try remove(key, from: &body) { credential = text }
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

    /// Reads the first `Basic` credentials: the user is the application id, and the password is the master key or
    /// `javascript-key=` followed by the JavaScript key.
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

/// The keys, tokens and ids that a request contains, not yet verified.
///
/// They come from headers, HTTP Basic authentication or the reserved `_…` keys of a JSON or form body.
public struct Credentials: Sendable, Equatable {
    public var applicationID: String?
    public var sessionToken: String?
    /// The master key, the read-only master key or an administrator's key, which share a header field.
    public var masterKey: String?
    public var maintenanceKey: String?
    /// The id of the caller's installation (device).
    public var installationID: String?
    public var clientKey: String?
    public var javascriptKey: String?
    public var dotNetKey: String?
    public var restAPIKey: String?
    /// The SDK and its version, for example `i1.19.2`.
    public var clientVersion: String?
    /// The context that the caller passes to cloud code.
    public var context: JSONObject?
    /// The caller's own id for the request (`X-Parse-Request-Id`).
    public var requestID: String?

    public init() {}
}
