import NIOCore

/// Reassembles messages from frames. A frame consists of four big-endian bytes with the length and marks
/// (``FrameMark``), and a piece of JSON.
package struct FrameDecoder: NIOSingleStepByteToMessageDecoder {
    package typealias InboundOut = ByteBuffer

    /// The maximum size in bytes of a message.
    let limit: Int
    private var pieces: ByteBuffer?

    package init(limit: Int) { self.limit = limit }

    /// The error for a message that exceeds the limit.
    package struct TooLong: Error, CustomStringConvertible {
        let length: Int
        let limit: Int
        package var description: String { "a message of \(length) bytes exceeds the limit of \(limit) bytes" }
    }

    package mutating func decode(buffer: inout ByteBuffer) throws -> ByteBuffer? {
        while let header = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) {
            let length = Int(header & FrameMark.length)
            let isPiece = header & FrameMark.piece != 0
            let total = length + (isPiece ? pieces?.readableBytes ?? 0 : 0)
            guard total <= limit else { throw TooLong(length: total, limit: limit) }
            guard buffer.readableBytes >= 4 + length else { return nil }
            buffer.moveReaderIndex(forwardBy: 4)
            guard var frame = buffer.readSlice(length: length) else { return nil }
            guard isPiece else { return frame }
            if pieces?.writeBuffer(&frame) == nil { pieces = frame }
            guard header & FrameMark.last != 0 else { continue }
            defer { pieces = nil }
            return pieces
        }
        return nil
    }

    package mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ByteBuffer? {
        try decode(buffer: &buffer)
    }
}

/// The marks in the first four bytes of a frame, next to its length.
package enum FrameMark {
    static let length: UInt32 = 0x3FFF_FFFF
    /// The mark of a piece of a message that is interleaved with small messages.
    package static let piece: UInt32 = 0x8000_0000
    /// The mark of the last piece.
    package static let last: UInt32 = 0x4000_0000
}
