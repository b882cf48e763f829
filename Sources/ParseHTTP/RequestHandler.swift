/// Answers requests. The transport turns bytes into an ``Envelope``, and the ``Reply`` into bytes.
public protocol RequestHandler: Sendable {
    /// Answers one request.
    ///
    /// - Parameter envelope: The request; its keys have been checked.
    /// - Returns: The answer.
    /// - Throws: `ParseError` or ``HTTPFault``, which become the error answers of the REST interface; anything else
    ///   becomes an internal error, whose details only the log shows.
    func respond(to envelope: Envelope) async throws -> Reply
}

/// An error that has an HTTP status but none of Parse's numbers: `{"error": message}`.
public struct HTTPFault: Error, Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The text for the caller.
    public var message: String

    /// Makes an error with a status and a text.
    public init(status: Int, message: String) {
        self.status = status
        self.message = message
    }

    /// The keys of the request are not good enough.
    public static let unauthorized = HTTPFault(status: 403, message: "unauthorized")
}
