public import JSON
public import OrderedCollections

/// A request from cloud code to the server, performed without HTTP.
public struct InternalRequest: Sendable {
    /// The caller of an internal request.
    public enum Authority: Sendable {
        /// The caller identified by the request's headers and body, as for a client's request. Keys and session tokens
        /// are accepted.
        case asSent
        /// A caller with the master key.
        case master
        /// The user of the session with this token.
        case session(String)
        /// A client that isn't logged in.
        case anonymous
    }

    /// The HTTP method in upper case.
    public var method: String
    /// The percent-encoded path below the mount path, with an optional query string: `/classes/Posts?limit=1`.
    public var path: String
    /// The body, or the query parameters of a GET request. The size and nesting limits of client requests apply.
    public var body: JSONObject
    /// The header fields. With `asSent` they can contain keys and the session token.
    public var headers: [(name: String, value: String)]
    public var authority: Authority
    /// The installation id, or nil for `cloud`.
    public var installationId: String?
    /// The context passed to triggers, or nil to read it from the headers or the body.
    public var context: JSONObject?
    /// The call whose code makes the request, or nil if the request isn't made within a call.
    public var parent: Parent?

    /// The properties of a call that its requests inherit.
    public struct Parent: Sendable {
        /// The client's address.
        public var ip: String
        public var headers: JSONObject
        public var requestID: String
        /// The nesting depth of the call.
        public var depth: Int
        public var isOfAdapter: Bool

        public init(_ call: CloudCall) {
            ip = call.ip
            headers = call.headers
            requestID = call.requestID
            depth = call.depth
            isOfAdapter = call.isOfAdapter
        }
    }

    public init(
        _ method: String, _ path: String, body: JSONObject = [:], headers: [(name: String, value: String)] = [],
        authority: Authority = .asSent, context: JSONObject? = nil, parent: Parent? = nil
    ) {
        self.method = method
        self.path = path
        self.body = body
        self.headers = headers
        self.authority = authority
        self.context = context
        self.parent = parent
    }
}

/// The response to an internal request. Errors are also returned as responses.
public struct InternalReply: Sendable {
    public var status: Int
    public var headers: [(name: String, value: String)]
    /// The body, usually JSON, or empty.
    public var body: [UInt8]

    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
