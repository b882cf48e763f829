public import JSON
import NIOHTTP1

/// A request to a server of others.
public struct HTTPCall: Sendable {
    /// The upper-case method.
    public var method: String
    /// The address, with `https` or `http`.
    public var url: String
    /// The headers; the host and the length are added.
    public var headers: [(name: String, value: String)]
    /// The body; empty for none.
    public var body: [UInt8]

    /// Makes a request.
    public init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// What a server of others answered.
public struct HTTPReply: Sendable {
    /// The status.
    public var status: Int
    /// The headers, in the order in which they came.
    public var headers: [(name: String, value: String)]
    /// The body.
    public var body: [UInt8]

    /// Whether the status is one of 200 to 299.
    public var isSuccess: Bool { (200...299).contains(status) }

    /// What the status is called: `Bad Gateway`.
    public var reason: String { HTTPResponseStatus(statusCode: status).reasonPhrase }

    /// The body as JSON; nil when it is none.
    public var json: JSONValue? { try? JSONValue(parsing: body) }

    /// The value of the first header with a name, whose case does not count; nil without any.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Why a server of others gave no answer. Contains nothing of what was sent.
public struct HTTPCallFailure: Error, CustomStringConvertible {
    /// What went wrong.
    public enum Kind: Sendable {
        /// There is no such host, or no server listens there.
        case unreachable
        /// The connection ended before the answer did.
        case closed
        /// The answer is larger than it may be.
        case tooLarge
        /// Other calls have all connections to the host.
        case busy
        /// Anything else.
        case other
    }

    /// The message for the operator.
    public var description: String
    /// What went wrong.
    public var kind: Kind

    /// Makes a failure.
    public init(description: String, kind: Kind = .other) {
        self.description = description
        self.kind = kind
    }
}
