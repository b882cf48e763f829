import DequeModule
import NIOCore

struct OutgoingMessage: Sendable {
    fileprivate let bytes: [UInt8]
    fileprivate var call: Int?
    fileprivate var cancelled: Int?
    /// Whether the message keeps its order after earlier large and ordered messages, even if it is small.
    fileprivate var isOrdered = false

    /// A message of any kind.
    static func plain(_ bytes: [UInt8]) -> Self { Self(bytes: bytes) }

    static func call(_ number: Int, _ bytes: [UInt8], isOrdered: Bool = false) -> Self {
        Self(bytes: bytes, call: number, isOrdered: isOrdered)
    }

    static func ordered(_ bytes: [UInt8]) -> Self { Self(bytes: bytes, isOrdered: true) }

    /// Says that no caller waits for a call any more.
    static func cancellation(of number: Int) -> Self {
        Self(bytes: Array(#"{"type":"cancel","id":\#(number)}"#.utf8), cancelled: number)
    }
}

/// Writes messages as the process reads them: small ones at once, large ones piece by piece in between, so that neither
/// the question whether the process is alive nor anybody's small call waits behind megabytes.
final class MessageWriter: ChannelOutboundHandler, ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = OutgoingMessage
    typealias OutboundOut = ByteBuffer

    /// The most bytes of a frame.
    static let pieceSize = 64 * 1024

    private var small: Deque<[UInt8]> = []
    /// The large ones in their order; of the first, so many bytes are written.
    private var large: Deque<OutgoingMessage> = []
    private var written = 0

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        promise?.succeed()
        let message = unwrapOutboundIn(data)
        if let number = message.cancelled, let index = large.firstIndex(where: { $0.call == number }) {
            // What has not begun is not sent at all; otherwise the process hears of it after the call.
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
