import DequeModule
import NIOCore

struct OutgoingMessage: Sendable {
    fileprivate let bytes: [UInt8]
    fileprivate var call: Int?
    fileprivate var cancelled: Int?
    /// Whether the message stays behind earlier large and ordered messages, even if it is small.
    fileprivate var isOrdered = false

    static func plain(_ bytes: [UInt8]) -> Self { Self(bytes: bytes) }

    static func call(_ number: Int, _ bytes: [UInt8], isOrdered: Bool = false) -> Self {
        Self(bytes: bytes, call: number, isOrdered: isOrdered)
    }

    static func ordered(_ bytes: [UInt8]) -> Self { Self(bytes: bytes, isOrdered: true) }

    /// Returns the message that tells the process that the caller of a call has stopped waiting.
    static func cancellation(of number: Int) -> Self {
        Self(bytes: Array(#"{"type":"cancel","id":\#(number)}"#.utf8), cancelled: number)
    }
}

/// Writes messages in frames. Large messages are sent in pieces, interleaved with small messages, so that neither pings
/// nor small calls wait behind megabytes.
final class MessageWriter: ChannelOutboundHandler, ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = OutgoingMessage
    typealias OutboundOut = ByteBuffer

    /// The maximum size in bytes of a message in one frame.
    static let pieceSize = 64 * 1024

    private var small: Deque<[UInt8]> = []
    /// Large messages in order. The first `written` bytes of the first one are already sent.
    private var large: Deque<OutgoingMessage> = []
    private var written = 0

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        promise?.succeed()
        let message = unwrapOutboundIn(data)
        if let number = message.cancelled, let index = large.firstIndex(where: { $0.call == number }) {
            // A call of which nothing is sent yet isn't sent at all. Otherwise the cancellation follows the call.
            if index > 0 || written == 0 { large.remove(at: index) } else { large.append(message) }
        } else if message.isOrdered || message.bytes.count > Self.pieceSize {
            large.append(message)
        } else {
            small.append(message.bytes)
        }
    }

    func flush(context: ChannelHandlerContext) { pump(context) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump(context)
        context.fireChannelWritabilityChanged()
    }

    private func pump(_ context: ChannelHandlerContext) {
        var hasWritten = false
        while context.channel.isWritable, !(small.isEmpty && large.isEmpty) {
            if let bytes = small.popFirst() {
                context.write(wrapOutboundOut(frame(bytes[...], marks: 0, context)), promise: nil)
            }
            if let piece = nextPiece(context) { context.write(wrapOutboundOut(piece), promise: nil) }
            hasWritten = true
        }
        if hasWritten { context.flush() }
    }

    private func nextPiece(_ context: ChannelHandlerContext) -> ByteBuffer? {
        guard let bytes = large.first?.bytes else { return nil }
        let end = min(written + Self.pieceSize, bytes.count)
        let isLast = end == bytes.count
        let piece = frame(bytes[written..<end], marks: FrameMark.piece | (isLast ? FrameMark.last : 0), context)
        written = isLast ? 0 : end
        if isLast { large.removeFirst() }
        return piece
    }

    private func frame(_ bytes: ArraySlice<UInt8>, marks: UInt32, _ context: ChannelHandlerContext) -> ByteBuffer {
        var buffer = context.channel.allocator.buffer(capacity: 4 + bytes.count)
        buffer.writeInteger(UInt32(bytes.count) | marks)
        buffer.writeBytes(bytes)
        return buffer
    }
}
