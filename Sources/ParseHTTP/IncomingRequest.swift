/// A request as it came from the connection.
struct IncomingRequest {
    /// A short id under which the log speaks about it.
    let id: RequestID
    /// The method's name in the request line.
    let method: String
    /// The target in the request line.
    let target: String
    /// The header fields.
    let headers: RequestHeaders
    /// The host, and port, that the client called.
    let authority: String?
    /// The IP address of the other end of the connection.
    let peer: String
    /// The body, while it arrives.
    let body: IncomingBody

    var isHead: Bool { method == "HEAD" }

    /// Whether the request only looks, so that an answer may say that nothing changed.
    var isConditional: Bool { method == "GET" || method == "HEAD" }
}
