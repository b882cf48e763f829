import NIOCore
import NIOWebSocket

/// The header of a frame (RFC 6455, 5.2).
struct FrameHeader {
    let isLast: Bool
    let hasReservedBits: Bool
    let opcode: WebSocketOpcode
    /// The length of the data in bytes, capped at `Int.max`.
    let length: Int
    let maskKey: WebSocketMaskingKey?
    /// The length of the header in bytes.
    let size: Int

    /// Reads the header at the beginning of the bytes, or returns nil if it is incomplete.
    init?(_ bytes: ByteBuffer) {
        let start = bytes.readerIndex
        guard let first = bytes.getInteger(at: start, as: UInt8.self),
            let second = bytes.getInteger(at: start + 1, as: UInt8.self)
        else { return nil }
        isLast = first & 0x80 != 0
        hasReservedBits = first & 0x70 != 0
        opcode = WebSocketOpcode(encodedWebSocketOpcode: first & 0x0F) ?? .continuation
        var place = start + 2
        switch second & 0x7F {
        case 126:
            guard let long = bytes.getInteger(at: place, as: UInt16.self) else { return nil }
            length = Int(long)
            place += 2
        case 127:
            guard let long = bytes.getInteger(at: place, as: UInt64.self) else { return nil }
            length = Int(clamping: long)
            place += 8
        case let short: length = Int(short)
        }
        if second & 0x80 == 0 {
            maskKey = nil
        } else {
            guard let key = bytes.getBytes(at: place, length: 4) else { return nil }
            maskKey = WebSocketMaskingKey(key)
            place += 4
        }
        size = place - start
    }
}
