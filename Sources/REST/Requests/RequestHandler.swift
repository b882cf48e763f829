import HTTP

/// Answers requests. The transport turns bytes into an ``Envelope``, and the ``Reply`` into bytes.
public protocol RequestHandler: Sendable {
    /// Answers one request.
    ///
    /// - Parameter envelope: The request; its keys have been checked.
    /// - Returns: The answer.
    /// - Throws: `ParseError` or ``HTTPError``, which become the error answers of the REST interface; anything else
    ///   becomes an internal error, whose details only the log shows.
    func respond(to envelope: Envelope) async throws -> Reply
}
