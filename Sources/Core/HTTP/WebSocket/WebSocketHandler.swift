public import Limits

/// Serves WebSocket connections on the server's port (RFC 6455).
public protocol WebSocketHandler: Sendable {
    /// Whether the handler serves a connection opened by this request. Other requests are answered as usual.
    func accepts(_ request: WebSocketRequest) -> Bool

    /// Whether clients authenticate after connecting. Until the handler calls ``WebSocketConnection/markKnown()``, such
    /// a connection is closed first to make room for others. If false, all clients count as authenticated.
    var knowsClientsLater: Bool { get }

    /// Returns the sender whose share of the slots a connection uses. No sender gets more than half of the slots.
    func sender(of request: WebSocketRequest) -> Sender

    /// Serves a connection, which is closed when this returns. The connection also ends if the client closes it or the
    /// server shuts down.
    ///
    /// - Throws: Any error, which closes the connection with code 1011.
    func serve(_ connection: WebSocketConnection) async throws
}

extension WebSocketHandler {
    public var knowsClientsLater: Bool { false }
    public func sender(of request: WebSocketRequest) -> Sender { Sender(address: request.peer) }
}

/// The request that opens a WebSocket connection.
public struct WebSocketRequest: Sendable {
    /// The path as sent, without the query string.
    public let path: String
    /// The origin of the web page, or nil if the client sends none.
    public let origin: String?
    /// The IP address of the other end of the connection.
    public let peer: String
    /// The header `X-Forwarded-For`, with the client first, or nil if missing.
    public let forwardedFor: String?
    /// The header `Host`: name and port under which the client reaches the server, or nil if missing.
    public let host: String?
    /// The header `X-Forwarded-Host`, or nil if missing.
    public let forwardedHost: String?
    /// The header `X-Forwarded-Proto`, or nil if missing.
    public let forwardedProtocol: String?
}
