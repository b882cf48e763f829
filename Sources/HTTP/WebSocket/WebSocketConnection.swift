import NIOCore
import NIOWebSocket

/// An open WebSocket connection.
public struct WebSocketConnection: Sendable {
    /// How it was opened.
    public let request: WebSocketRequest
    private let frames: NIOAsyncChannelInboundStream<WebSocketFrame>
    private let writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>

    init(
        _ request: WebSocketRequest, frames: NIOAsyncChannelInboundStream<WebSocketFrame>,
        writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    ) {
        self.request = request
        self.frames = frames
        self.writer = writer
    }

    /// Sends a text; returns when the connection can take more.
    ///
    /// - Throws: What ended the connection.
    public func send(_ text: String) async throws {
        try await writer.write(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)))
    }

    /// The texts that the client sends, until it closes the connection. One task reads them, once. Pings are answered
    /// while it waits for the next.
    public var texts: Texts { Texts(frames: frames, writer: writer) }

    /// Says why the connection ends; nothing may be sent after it.
    func close(_ code: WebSocketErrorCode) async throws {
        try await Self.close(code, writer)
    }

    private static func close(
        _ code: WebSocketErrorCode, _ writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    ) async throws {
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        try await writer.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
    }

    /// The texts of a connection.
    public struct Texts: AsyncSequence, Sendable {
        fileprivate let frames: NIOAsyncChannelInboundStream<WebSocketFrame>
        fileprivate let writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>

        /// Begins to read.
        public func makeAsyncIterator() -> Iterator {
            Iterator(frames: frames.makeAsyncIterator(), writer: writer)
        }

        /// Reads one text after the other.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var frames: NIOAsyncChannelInboundStream<WebSocketFrame>.AsyncIterator
            fileprivate let writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>

            /// The next text; nil when the client has closed the connection, or breaks the protocol.
            ///
            /// - Throws: What ended the connection.
            public mutating func next() async throws -> String? {
                while let frame = try await frames.next(isolation: #isolation) {
                    switch frame.opcode {
                    case .text:
                        guard let text = String(validating: frame.unmaskedData.readableBytesView, as: UTF8.self) else {
                            return try await end(.dataInconsistentWithMessage)
                        }
                        return text
                    case .ping:
                        try await writer.write(WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData))
                    case .pong: break
                    case .binary: return try await end(.unacceptableData)
                    case .connectionClose: return try await end(.normalClosure)
                    default: return try await end(.protocolError)
                    }
                }
                return nil
            }

            private func end(_ code: WebSocketErrorCode) async throws -> String? {
                try await WebSocketConnection.close(code, writer)
                writer.finish()
                return nil
            }
        }
    }
}
