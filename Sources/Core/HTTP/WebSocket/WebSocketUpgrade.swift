import Encoding
import NIOCore
import NIOHTTP1
import NIOWebSocket
import ServiceLifecycle

extension HTTPRequestHead {
    /// Whether the client offers to switch to another protocol: it sends `Upgrade`, and `Connection` with the value
    /// `upgrade`.
    var offersUpgrade: Bool {
        headers.contains(name: "Upgrade")
            && headers[canonicalForm: "Connection"].contains { $0.asciiLowercased == "upgrade" }
    }

    /// Whether the parser stops after the request, expecting another protocol.
    var endsParsing: Bool { method == .CONNECT || offersUpgrade }
}

/// A request to switch its connection to WebSocket.
struct WebSocketUpgrade {
    private let request: WebSocketRequest
    private let head: HTTPRequestHead
    private let handler: any WebSocketHandler

    /// Returns nil if the request doesn't ask for WebSocket or the handler doesn't accept it.
    init?(_ head: HTTPRequestHead, peer: String, handler: any WebSocketHandler) {
        guard head.method == .GET, head.offersUpgrade,
            head.headers[canonicalForm: "Upgrade"].contains(where: { $0.asciiLowercased == "websocket" })
        else { return nil }
        request = WebSocketRequest(
            path: String(head.uri.prefix { $0 != "?" }), origin: head.headers.first(name: "Origin"), peer: peer,
            forwardedFor: head.headers[canonicalForm: "X-Forwarded-For"].joinedFields,
            host: head.headers.first(name: "Host"),
            forwardedHost: head.headers[canonicalForm: "X-Forwarded-Host"].joinedFields,
            forwardedProtocol: head.headers[canonicalForm: "X-Forwarded-Proto"].joinedFields)
        guard handler.accepts(request) else { return nil }
        self.head = head
        self.handler = handler
    }

    /// Answers the request, and serves the connection until it ends.
    ///
    /// - Parameters:
    ///   - slots: Provides the connection's slot. If none is available, the client gets 503.
    ///   - transferTimeout: Watches the messages in both directions.
    ///   - drain: Determines when the open connection is closed on shutdown.
    /// - Returns: The response status.
    /// - Throws: The error of the connection or the handler.
    func serve(
        on connection: HTTPConnection, _ slots: WebSocketSlots, _ transferTimeout: TransferTimeout, _ drain: Drain
    ) async throws -> Int {
        let channel = connection.channel
        // SwiftNIO's upgrader checks the request and computes the response to its key.
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
            upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() })
        let headers: HTTPHeaders
        do {
            headers = try await upgrader.buildUpgradeResponse(
                channel: channel, upgradeRequest: head, initialResponseHeaders: [:]
            ).get()
        } catch {
            _ = connection.write(Self.badRequest)
            return 400
        }
        let client = WebSocketClient(sender: handler.sender(of: request), isKnown: !handler.knowsClientsLater)
        connection.caller.sender = client.sender
        // During the drain, new clients must go to another server.
        guard !drain.hasBegun, let slot = slots.acquire(channel, of: client.sender, isUnknown: !client.isKnown)
        else {
            _ = connection.write(Self.unavailable)
            return 503
        }
        defer { slots.leave(slot) }
        let frames = try await slots.shakeHands(of: client.sender, on: channel.eventLoop) {
            try await channel.eventLoop.flatSubmit {
                changeProtocol(of: connection, headers, client, transferTimeout)
            }.get()
        }
        try await frames.executeThenClose { inbound, outbound in
            let webSocket = WebSocketConnection(
                request: request, frames: inbound, writer: outbound, channel: channel,
                transferTimeout: transferTimeout, client: client
            ) {
                client.becomeKnown()
                slots.know(slot)
            }
            try await withGracefulShutdownHandler {
                do {
                    try await handler.serve(webSocket)
                } catch {
                    await webSocket.close(.unexpectedServerError)
                    throw error
                }
                await webSocket.close(.normalClosure)
            } onGracefulShutdown: {
                Task {
                    try? await Task.sleep(for: drain.timeForConnection)
                    await webSocket.close(.goingAway)
                    channel.close(promise: nil)
                }
            }
        }
        return 101
    }

    /// Removes HTTP from the pipeline before responding, since WebSocket begins with the next byte.
    private func changeProtocol(
        of connection: HTTPConnection, _ headers: HTTPHeaders, _ client: WebSocketClient,
        _ transferTimeout: TransferTimeout
    ) -> EventLoopFuture<NIOAsyncChannel<WebSocketFrame, WebSocketFrame>> {
        let channel = connection.channel
        let pipeline = channel.pipeline.syncOperations
        connection.leaveHTTP()
        do {
            let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self)
            return pipeline.removeHandler(context: decoder).flatMapThrowing {
                let pipeline = channel.pipeline.syncOperations
                var answer = ByteBuffer(string: "HTTP/1.1 101 Switching Protocols\r\n")
                for (name, value) in headers { answer.writeString("\(name): \(value)\r\n") }
                answer.writeString("\r\n")
                channel.writeAndFlush(answer, promise: nil)
                let reader = try pipeline.handler(type: ConnectionReader.self)
                let handlers: [any ChannelHandler] = [
                    WebSocketFrameEncoder(),
                    MessageAssembler(
                        client, connection.parts.input, transferTimeout, later: { connection.later($0) }),
                ]
                try pipeline.addHandlers(handlers, position: .before(reader))
                let frames = try NIOAsyncChannel<WebSocketFrame, WebSocketFrame>(wrappingChannelSynchronously: channel)
                // The last read was consumed by HTTP. Without another one, the end of the input would go unnoticed.
                channel.read()
                return frames
            }
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private static let badRequest = ByteBuffer(
        staticString: """
            HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\nConnection: close\r\nContent-Length: 0\r\n\r\n
            """)
    private static let unavailable = ByteBuffer(
        staticString: "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
}

extension [Substring] {
    fileprivate var joinedFields: String? { isEmpty ? nil : joined(separator: ", ") }
}
