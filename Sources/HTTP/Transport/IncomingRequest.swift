/// A request as it came from the connection.
package struct IncomingRequest {
    /// A short id under which the log speaks about it.
    package let id: RequestID
    /// The method's name in the request line.
    package let method: String
    /// The target in the request line.
    package let target: String
    /// The header fields.
    package let headers: RequestHeaders
    /// The host, and port, that the client called.
    package let authority: String?
    /// The IP address of the other end of the connection.
    package let peer: String
    /// The body, while it arrives.
    package let body: IncomingBody

    package var isHead: Bool { method == "HEAD" }

    /// Whether the request only looks, so that an answer may say that nothing changed.
    package var isConditional: Bool { method == "GET" || method == "HEAD" }
}
