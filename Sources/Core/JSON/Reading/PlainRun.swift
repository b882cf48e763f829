/// The search for the end of a run of string bytes that JSON holds as they are.
///
/// Reader and writer stop at the same bytes: the quote, the backslash and the control characters below U+0020.
enum PlainRun {
    /// Finds the first byte in `start..<limit` that is a quote, a backslash or a control character.
    ///
    /// Unsafe pointers, because this is the innermost loop of both reader and writer: it looks at eight bytes at a
    /// time without a bounds check. The caller vouches that `start..<limit` is readable memory; nothing else is read.
    ///
    /// - Returns: Where that byte is, or `limit`; and whether all bytes before it are ASCII.
    @inline(__always)
    static func end(
        from start: UnsafePointer<UInt8>, limit: UnsafePointer<UInt8>
    ) -> (end: UnsafePointer<UInt8>, isASCII: Bool) {
        var cursor = start
        var combined: UInt64 = 0
        while limit - cursor >= 8 {
            let word = UInt64(littleEndian: UnsafeRawPointer(cursor).loadUnaligned(as: UInt64.self))
            let stops = stopBits(in: word)
            if stops != 0 {
                let bitsBeforeStop = (stops & (0 &- stops)) &- 1
                combined |= word & bitsBeforeStop
                return (cursor + stops.trailingZeroBitCount / 8, combined & topBits == 0)
            }
            combined |= word
            cursor += 8
        }
        while cursor < limit, !isStop(cursor.pointee) {
            combined |= UInt64(cursor.pointee)
            cursor += 1
        }
        return (cursor, combined & topBits == 0)
    }

    private static let topBits: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    private static func isStop(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x22 || byte == 0x5C
    }

    /// A word whose lowest set bit is the top bit of the first stop byte of `word`, from its low end, or zero if none
    /// is.
    ///
    /// A subtraction borrows only out of a stop byte, so bytes above the first stop may be marked wrongly, bytes below
    /// it never. Bytes from 0x80 are never marked first because their top bit is masked out.
    @inline(__always)
    private static func stopBits(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let below = word &- (ones &* 0x20)
        return (below | (quotes &- ones) | (backslashes &- ones)) & ~word & topBits
    }
}
