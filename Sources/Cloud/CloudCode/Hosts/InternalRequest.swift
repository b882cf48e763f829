public import JSON
public import OrderedCollections

/// A request that cloud code makes of the server, without HTTP between them.
public struct InternalRequest: Sendable {
    /// Who makes a request.
    public enum Authority: Sendable {
        /// The caller that its header fields and its body name, as for a client: a master key counts, and so does a
        /// session token.
        case asSent
        /// Master key.
        case master
        /// A session's user.
        case session(String)
        /// An anonymous client.
        case anonymous
    }

    /// The upper-case method.
    public var method: String
    /// The path below the mount, percent-encoded, with a query string where there is one: `/classes/Posts?limit=1`.
    public var path: String
    /// The body, or what would be a query string. It has the limits and refusals of a client's body.
    public var body: JSONObject
    /// Header fields, for `asSent` those with keys and the session token, too.
    public var headers: [(name: String, value: String)]
    /// Who makes it.
    public var authority: Authority
    /// The installation of the request, or nil for cloud code's own, `cloud`.
    public var installationId: String?
    /// What it hands on to triggers; nil for what the header fields or the body say.
    public var context: JSONObject?
    /// The call that the code which makes it was called by; nil for code that no call runs.
    public var parent: Parent?

    /// What is carried on of a call.
    public struct Parent: Sendable {
        /// The client's address, header fields, and request id.
        public var ip: String
        public var headers: JSONObject
        public var requestID: String
        /// How many calls of cloud code stand in one another.
        public var depth: Int

        /// Copies the call's context.
        public init(_ call: CloudCall) {
            ip = call.ip
            headers = call.headers
            requestID = call.requestID
            depth = call.depth
        }
    }

    /// Makes a request.
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

/// The answer to a request of cloud code, errors included.
public struct InternalReply: Sendable {
    /// The status.
    public var status: Int
    /// The header fields.
    public var headers: [(name: String, value: String)]
    /// The body as JSON in bytes.
    public var body: [UInt8]

    /// Makes an answer.
    public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Who carries out the requests of cloud code: the routes of the REST interface.
public protocol InternalRequests: Sendable {
    /// Carries out a request. Errors become answers, as for clients.
    func perform(_ request: InternalRequest) async -> InternalReply
}
