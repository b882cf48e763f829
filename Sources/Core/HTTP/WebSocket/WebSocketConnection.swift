import Limits
import NIOCore
import NIOWebSocket

/// An open WebSocket connection.
public struct WebSocketConnection: Sendable {
    /// The request that opened the connection.
    public let request: WebSocketRequest
    let frames: NIOAsyncChannelInboundStream<WebSocketFrame>
    let writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    let channel: any Channel
    let transferTimeout: TransferTimeout
    let client: WebSocketClient
    let known: @Sendable () -> Void

    /// Marks the client as authenticated, so that its connection is no longer closed to make room for others.
    public func markKnown() { known() }

    /// Sends a text, and waits until the connection can take more. A client that doesn't read is disconnected.
    ///
    /// - Throws: The error that ended the connection.
    public func send(_ text: String) async throws {
        let transfer = transferTimeout.begin(.answer, on: channel, bytes: text.utf8.count)
        defer { transferTimeout.end(transfer) }
        try await writer.write(WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)))
    }

    /// The texts that the client sends until it closes the connection. They can be read once, by one task. Pings are
    /// answered while that task waits for the next text.
    public var texts: Texts { Texts(frames: frames, writer: writer) }

    /// Pings the client repeatedly while another task reads its texts. Returns if nothing arrived between two pings.
    ///
    /// - Parameter pause: The time between two pings.
    /// - Throws: `CancellationError` if the task is cancelled.
    public func watch(every pause: Duration) async throws {
        while client.wasHeard() {
            // The ping bypasses the writer, which would wait for a client that doesn't read.
            channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer()), promise: nil)
            try await Task.sleep(for: pause)
        }
    }

    /// The time for a slow client to receive the close reason.
    private static let timeToClose = Duration.seconds(2)

    /// Sends the reason for closing, unless the client doesn't read. Nothing may be sent afterward.
    func close(_ code: WebSocketErrorCode) async {
        await withTimeLimit(Self.timeToClose) { try? await Self.close(code, writer) }
    }

    private static func close(
        _ code: WebSocketErrorCode, _ writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>
    ) async throws {
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        try await writer.write(WebSocketFrame(fin: true, opcode: .connectionClose, data: data))
    }

    public struct Texts: AsyncSequence, Sendable {
        fileprivate let frames: NIOAsyncChannelInboundStream<WebSocketFrame>
        fileprivate let writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>

        public func makeAsyncIterator() -> Iterator {
            Iterator(frames: frames.makeAsyncIterator(), writer: writer)
        }

        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var frames: NIOAsyncChannelInboundStream<WebSocketFrame>.AsyncIterator
            fileprivate let writer: NIOAsyncChannelOutboundWriter<WebSocketFrame>

            /// Returns the next text, or nil if the client closed the connection or sent anything but valid text.
            ///
            /// - Throws: The error that ended the connection.
            public mutating func next() async throws -> String? {
                while let frame = try await frames.next(isolation: #isolation) {
                    switch frame.opcode {
                    case .text:
                        guard let text = String(validating: frame.unmaskedData.readableBytesView, as: UTF8.self) else {
                            return try await end(.dataInconsistentWithMessage)
                        }
                        return text
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
