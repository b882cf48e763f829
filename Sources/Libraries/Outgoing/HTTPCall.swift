public import JSON
import NIOHTTP1

/// A request to another server.
public struct HTTPCall: Sendable {
    /// The HTTP method in upper case.
    public var method: String
    /// The URL, with the scheme `https` or `http`.
    public var url: String
    /// The header fields, except the host and the length, which ``HTTPCaller`` adds.
    public var headers: [(name: String, value: String)]
    /// The body, which may be empty.
    public var body: [UInt8]

    public init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// A response from another server.
public struct HTTPReply: Sendable {
    public var status: Int
    /// The header fields in their original order.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]

    public var isSuccess: Bool { (200...299).contains(status) }

    /// The standard reason phrase of the status, such as `Bad Gateway`.
    public var reason: String { HTTPResponseStatus(statusCode: status).reasonPhrase }

    /// The parsed body, or nil if it isn't valid JSON.
    public var json: JSONValue? { try? JSONValue(parsing: body) }

    /// Returns the value of the first header field with the given name, ignoring case, or nil if there is none.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The reason why a call to another server failed. Contains none of the request's data.
public struct HTTPCallFailure: Error, CustomStringConvertible {
    public enum Kind: Sendable {
        /// The host doesn't exist, or connecting failed or timed out.
        case unreachable
        /// The connection closed before the end of the response.
        case closed
        /// The response exceeds the size limit.
        case tooLarge
        /// All connections to the host are in use.
        case busy
        case other
    }

    public var description: String
    public var kind: Kind

    public init(description: String, kind: Kind = .other) {
        self.description = description
        self.kind = kind
    }
}
