import Encoding
import NIOCore
import NIOHTTP1
import NIOWebSocket
import ServiceLifecycle

/// A request that turns its connection into one of WebSocket.
struct WebSocketUpgrade {
    private let request: WebSocketRequest
    private let head: HTTPRequestHead
    private let handler: any WebSocketHandler

    /// - Returns: nil for a request that asks for nothing of that kind, or for what the handler does not serve.
    init?(_ head: HTTPRequestHead, peer: String, handler: any WebSocketHandler) {
        guard head.method == .GET,
            head.headers[canonicalForm: "Upgrade"].contains(where: { $0.asciiLowercased == "websocket" })
        else { return nil }
        request = WebSocketRequest(
            path: String(head.uri.prefix { $0 != "?" }), origin: head.headers.first(name: "Origin"), peer: peer,
            forwardedFor: head.headers[canonicalForm: "X-Forwarded-For"].joinedFields)
        guard handler.accepts(request) else { return nil }
        self.head = head
        self.handler = handler
    }

    /// The most bytes of one message.
    private static let largestMessage = 1024 * 1024
    /// The most frames of one message.
    private static let mostFrames = 1024

    /// Answers the request, and serves the connection until it ends.
    ///
    /// - Returns: The status of the answer.
    /// - Throws: The error of the connection.
    func serve(on connection: HTTPConnection) async throws -> Int {
        let channel = connection.channel
        // The upgrader of SwiftNIO checks the request, and computes the answer to its key.
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture([:]) },
            upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() })
        let headers: HTTPHeaders
        do {
            headers = try await upgrader.buildUpgradeResponse(
                channel: channel, upgradeRequest: head, initialResponseHeaders: [:]
            ).get()
        } catch {
            try await connection.send(Self.badRequest)
            return 400
        }
        let frames = try await channel.eventLoop.flatSubmit { changeProtocol(of: connection, headers) }.get()
        try await frames.executeThenClose { inbound, outbound in
            let webSocket = WebSocketConnection(request, frames: inbound, writer: outbound, channel: channel)
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
                    await webSocket.close(.goingAway)
                    channel.close(promise: nil)
                }
            }
        }
        return 101
    }

    /// Takes HTTP out of the pipeline before the client is answered, since WebSocket begins with the next byte.
    private func changeProtocol(
        of connection: HTTPConnection, _ headers: HTTPHeaders
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
                    ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: Self.largestMessage)),
                    MaskCheck(),
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: Self.mostFrames,
                        maxAccumulatedFrameSize: Self.largestMessage),
                    WebSocketProtocolErrorHandler(),
                ]
                try pipeline.addHandlers(handlers, position: .before(reader))
                return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
            }
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private static let badRequest = ByteBuffer(
        staticString: """
            HTTP/1.1 400 Bad Request\r\nSec-WebSocket-Version: 13\r\nConnection: close\r\nContent-Length: 0\r\n\r\n
            """)
}

extension [Substring] {
    /// Fields of one name as one; nil where there is none.
    fileprivate var joinedFields: String? { isEmpty ? nil : joined(separator: ", ") }
}

/// Ends a connection whose client does not mask what it sends (RFC 6455, 5.1).
private final class MaskCheck: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard unwrapInboundIn(data).maskKey == nil else { return context.fireChannelRead(data) }
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: .protocolError)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: reason)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
        context.close(promise: nil)
    }
}
