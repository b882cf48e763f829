/// The search for the end of a run of string bytes that JSON holds as they are.
///
/// Reader and writer stop at the same bytes: the quote, the backslash and the control characters below U+0020.
enum PlainRun {
    /// The first byte in `start..<end` that is a quote, a backslash or a control character, or `end`.
    ///
    /// Unsafe pointers, because this is the innermost loop of both reader and writer: it looks at eight bytes at a
    /// time without a bounds check. The caller vouches that `start..<end` is readable memory; nothing else is read.
    @inline(__always)
    static func end(from start: UnsafePointer<UInt8>, to end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var cursor = start
        while end - cursor >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(cursor).loadUnaligned(as: UInt64.self))
            let stops = stopBits(in: word)
            if stops != 0 { return cursor + stops.trailingZeroBitCount / 8 }
            cursor += 8
        }
        while cursor < end, !isStop(cursor.pointee) { cursor += 1 }
        return cursor
    }

    /// Whether a string cannot hold the byte unescaped.
    @inline(__always)
    private static func isStop(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x22 || byte == 0x5C
    }

    /// A word whose lowest set bit is the top bit of the first byte of `word`, from its low end, that is a stop; zero
    /// when none is.
    ///
    /// A subtraction borrows only out of a byte that is a stop, so bytes above the first stop may be marked wrongly,
    /// bytes below it never. Bytes of 0x80 and more are never marked first: their top bit is masked out.
    @inline(__always)
    private static func stopBits(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let below = word &- (ones &* 0x20)
        return (below | (quotes &- ones) | (backslashes &- ones)) & ~word & (ones &* 0x80)
    }
}
