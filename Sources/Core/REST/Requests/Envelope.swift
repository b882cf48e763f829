public import HTTP
public import JSON
public import OrderedCollections
import Rules

/// One request as the routes see it: the method after an override, the path below the mount, the credentials taken
/// out of wherever they were, and the body as JSON.
public struct Envelope: Sendable {
    /// Who sent it.
    public let origin: RequestOrigin
    /// The method, after `_method` in the body.
    public var method: Method
    /// The method's name in capitals, such as `PATCH`, for messages.
    public var methodName: String
    /// The components below the mount path, percent-decoded; empty ones (double and trailing slashes) are dropped.
    public var path: [String]
    /// The path below the mount as it came, for messages.
    public var rawPath: String
    /// The query string: each value as JSON if it parses, else as a string; a repeated name gives an array.
    public var query: JSONObject
    /// The query string as it came; empty when there was none.
    public var queryString: String
    /// The JSON body without the credentials that were taken from it. An array counts as an object with the keys
    /// `0`, `1`, ...; no body as an empty object.
    public var body: JSONObject
    /// The files of a form (`multipart/form-data`), by the names of their parts; the body holds its other parts.
    public var uploads: [Name: FormFile]
    /// Whether this is one element of a batch.
    public var isBatchElement: Bool
    /// Whether it came as a POST that says in its body to be something else.
    public var isOverridden = false
    /// What the console asks for besides; nil for the requests of clients.
    public var console: ConsoleRequest?

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

    /// A short id under which the log speaks about this request.
    public var id: RequestID { origin.requestID }
    /// Who the caller says it is.
    public var credentials: Credentials { origin.credentials }
    /// What the caller's keys are worth.
    public var power: Caller.Power { origin.power }
    /// `scheme://host/mount`, for links to this server; `publicServerURL` if that is configured.
    public var mountURL: String { origin.mountURL }

    /// Body and query string as one object. The query string wins where both have a key.
    public var parameters: JSONObject {
        if query.isEmpty { return body }
        return body.isEmpty ? query : body.merging(query) { _, fromQuery in fromQuery }
    }

    /// The query string with every value as the string that was sent: for values that are never JSON, such as a
    /// password.
    public var queryText: JSONObject { FormEncoding.strings(queryString) }
}
