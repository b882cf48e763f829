import Encoding

/// An error with an HTTP status but without a Parse error code. Its body is `{"error": message}`.
public struct HTTPError: Error, Sendable, Equatable, CustomStringConvertible {
    public var status: Int
    /// The message, sent to the client unchanged.
    public var message: String

    public var description: String { message }

    public init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    /// The error for a request whose keys don't grant access.
    public static let unauthorized = HTTPError(status: 403, message: "unauthorized")

    /// The error for a body that exceeds the size limit.
    public static let bodyTooLarge = HTTPError(status: 413, message: "request entity too large")

    /// The error for a request or response if memory is full or too many bodies wait for it.
    package static let overloaded = HTTPError(status: 503, message: "The server is busy. Please try again later.")

    /// The error for a connection that ended before the body did.
    package static let aborted = HTTPError(status: 400, message: "request aborted")

    /// Returns the error for an unknown path or method. As in Express, the path is percent-encoded.
    public static func noRoute(method: String, path: some StringProtocol) -> HTTPError {
        HTTPError(status: 404, message: "Cannot \(method) \(path.isEmpty ? "/" : PercentEncoding.encodeURL(path))")
    }
}
