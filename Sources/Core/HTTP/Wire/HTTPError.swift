import Encoding

/// An error with an HTTP status but without a Parse error code. Its body is `{"error": message}`.
public struct HTTPError: Error, Sendable, Equatable {
    public var status: Int
    /// The message, sent to the client unchanged.
    public var message: String

    public init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    /// The keys of the request don't grant access.
    public static let unauthorized = HTTPError(status: 403, message: "unauthorized")

    /// The body exceeds the size limit.
    public static let bodyTooLarge = HTTPError(status: 413, message: "request entity too large")

    /// Memory is full for request bodies or responses.
    package static let overloaded = HTTPError(status: 503, message: "The server is busy. Please try again later.")

    /// The connection ended before the body did.
    package static let aborted = HTTPError(status: 400, message: "request aborted")

    /// The error for an unknown path. As in Express, the path is percent-encoded.
    public static func noRoute(method: String, path: some StringProtocol) -> HTTPError {
        HTTPError(status: 404, message: "Cannot \(method) \(path.isEmpty ? "/" : PercentEncoding.encodeURL(path))")
    }
}
