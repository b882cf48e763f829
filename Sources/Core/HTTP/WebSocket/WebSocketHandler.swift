public import Tasks

/// Serves the WebSocket connections that clients open on the port of the server (RFC 6455).
public protocol WebSocketHandler: Sendable {
    /// Whether the handler serves connections that are opened like this. What it does not want is answered as any other
    /// request.
    func accepts(_ request: WebSocketRequest) -> Bool

    /// Whether clients say who they are by what they send: until the handler calls ``WebSocketConnection/noteKnown()``,
    /// a connection makes room for others. Without a word of the handler's, no connection does.
    var knowsClientsLater: Bool { get }

    /// On whose behalf a connection is opened: no network has most of the slots.
    func sender(of request: WebSocketRequest) -> Sender

    /// Serves a connection. It is closed when the function returns, and ends when the client closes it or the server is
    /// shut down.
    ///
    /// - Throws: Anything; the connection is then closed as one that failed (1011).
    func serve(_ connection: WebSocketConnection) async throws
}

extension WebSocketHandler {
    public var knowsClientsLater: Bool { false }
    public func sender(of request: WebSocketRequest) -> Sender { Sender(address: request.peer) }
}

/// What a client says when it opens a WebSocket connection.
public struct WebSocketRequest: Sendable {
    /// The path, as it was sent, without a query.
    public let path: String
    /// The origin of the page that opens it; nil where no browser does.
    public let origin: String?
    /// The IP address of the other end.
    public let peer: String
    /// What proxies say of where the client is (`X-Forwarded-For`), the client first; nil where none says anything.
    public let forwardedFor: String?
    /// The name and port by which the client sees the server (`Host`); nil where it does not say.
    public let host: String?
    /// The same as proxies say it (`X-Forwarded-Host`); nil where none says anything.
    public let forwardedHost: String?
    /// By what the client speaks, as proxies say it (`X-Forwarded-Proto`); nil where none says anything.
    public let forwardedProtocol: String?
}
