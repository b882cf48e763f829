import NIOCore

/// Cuts a stream of bytes into messages: four bytes of length, most significant first, and JSON.
struct FrameDecoder: NIOSingleStepByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// The most bytes of a message.
    let limit: Int

    /// A message that is longer than it may be.
    struct TooLong: Error, CustomStringConvertible {
        let length: Int
        let limit: Int
        var description: String { "a message of \(length) bytes came, and \(limit) is the most" }
    }

    func decode(buffer: inout ByteBuffer) throws -> ByteBuffer? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return nil }
        guard length <= limit else { throw TooLong(length: Int(length), limit: limit) }
        guard buffer.readableBytes >= 4 + Int(length) else { return nil }
        buffer.moveReaderIndex(forwardBy: 4)
        return buffer.readSlice(length: Int(length))
    }

    func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ByteBuffer? { try decode(buffer: &buffer) }

    /// The bytes of a message.
    static func frame(_ content: [UInt8], in allocator: ByteBufferAllocator) -> ByteBuffer {
        var buffer = allocator.buffer(capacity: 4 + content.count)
        buffer.writeInteger(UInt32(content.count))
        buffer.writeBytes(content)
        return buffer
    }
}

/// Cuts what comes into frames.
final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let processor: NIOSingleStepByteToMessageProcessor<FrameDecoder>

    init(_ decoder: FrameDecoder) { processor = NIOSingleStepByteToMessageProcessor(decoder) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            try processor.process(buffer: unwrapInboundIn(data)) { context.fireChannelRead(wrapInboundOut($0)) }
        } catch {
            context.fireErrorCaught(error)
        }
    }
}
