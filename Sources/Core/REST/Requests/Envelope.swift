import Encoding
public import HTTP
public import JSON
public import OrderedCollections
import Rules

/// A request as routes see it: method after an override, path below the mount, credentials and parsed body.
public struct Envelope: Sendable {
    /// The sender of the request.
    public let origin: RequestOrigin
    /// The method, after an override by `_method` in the body.
    public var method: Method
    /// The method's upper-case name, such as `PATCH`, for messages.
    public var methodName: String
    /// The percent-decoded path components below the mount path, without empty components.
    public var path: [String]
    /// The path below the mount as sent, for messages.
    public var rawPath: String
    /// The query string. Values that are valid JSON are parsed, others are strings. A repeated name becomes an array,
    /// and a name with brackets becomes a member whose value is a string.
    public var query: JSONObject
    /// The raw query string, or empty if the request has none.
    public var queryString: String
    /// The parsed JSON or form body without the credentials read from it. An array becomes an object with the keys `0`,
    /// `1`, …; a missing body becomes an empty object.
    public var body: JSONObject
    /// The files of a form (`multipart/form-data`), by part name. The other parts are in the body.
    public var uploads: [Name: FormFile]
    public var isBatchElement: Bool
    /// Whether the request is a POST that overrides its method in the body.
    public var isOverridden = false
    /// The authority of a site within the server, or nil for requests of clients and cloud code.
    public var authority: RequestAuthority?

    public init(
        from origin: RequestOrigin, method: Method, path: [String], rawPath: String, query: JSONObject = [:],
        queryString: String = "", body: JSONObject = [:], uploads: [Name: FormFile] = [:],
        isBatchElement: Bool = false
    ) {
        self.origin = origin
        self.method = method
        methodName = method.rawValue
        self.path = path
        self.rawPath = rawPath
        self.query = query
        self.queryString = queryString
        self.body = body
        self.uploads = uploads
        self.isBatchElement = isBatchElement
    }

    /// The id of the HTTP request, as in the log, or 0 for a request of cloud code.
    public var id: RequestID { origin.requestID }
    /// The caller's credentials as sent. The keys, but not the session token, have been checked.
    public var credentials: Credentials { origin.credentials }
    /// The rights that the caller's keys grant, or that the console or cloud code has without keys.
    public var power: Caller.Power { origin.power }
    /// The URL of the mount path as the client sees it, for links to this server.
    public var mountURL: String { origin.mountURL }

    /// The body and the query string merged. The query string takes precedence.
    public var parameters: JSONObject {
        if query.isEmpty { return body }
        return body.isEmpty ? query : body.merging(query) { _, fromQuery in fromQuery }
    }

    /// Whether the request changes nothing. Verifying a password counts as a change, because failures count toward the
    /// account lockout.
    package var onlyReads: Bool {
        guard method == .get, let first = path.first?.asciiLowercased, first != "verifypassword" else { return false }
        return RouteTable.match(method, path)?.onlyReads ?? true
    }

    /// The query string with all values as strings, for values that are never JSON, such as passwords.
    public var queryText: JSONObject { FormEncoding.strings(queryString) }
}
