import Encoding

/// An error that has an HTTP status but none of Parse's numbers: `{"error": message}`.
public struct HTTPError: Error, Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The exact text.
    public var message: String

    /// Makes an error with a status and an exact text.
    public init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    /// The keys of the request are not good enough.
    public static let unauthorized = HTTPError(status: 403, message: "unauthorized")

    /// The body is larger than the server takes.
    public static let bodyTooLarge = HTTPError(status: 413, message: "request entity too large")

    /// There is no memory for a body or an answer now.
    package static let overloaded = HTTPError(status: 503, message: "The server is busy. Please try again later.")

    /// The connection ended before the body did.
    package static let aborted = HTTPError(status: 400, message: "request aborted")

    /// The error for an unknown path. As in Express, the path is percent-encoded.
    public static func noRoute(method: String, path: some StringProtocol) -> HTTPError {
        HTTPError(status: 404, message: "Cannot \(method) \(path.isEmpty ? "/" : PercentEncoding.encodeURL(path))")
    }
}
