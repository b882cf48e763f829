/// Finds the end of a run of string bytes that JSON doesn't escape.
///
/// Reader and writer stop at the same bytes: quotes, backslashes and control characters below U+0020.
enum PlainRun {
    /// Finds the first quote, backslash or control character in `start..<limit`.
    ///
    /// Uses unsafe pointers, because this is the innermost loop of both reader and writer: it processes eight bytes at
    /// a time without bounds checks. `start..<limit` must be readable memory.
    ///
    /// - Returns: A pointer to that byte, or `limit`, and whether all bytes before it are ASCII.
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

    /// Returns a word whose lowest set bit is the top bit of the first stop byte of `word`, or zero if it has none.
    ///
    /// A subtraction borrows only at stop bytes, so bytes above the first stop byte may be marked wrongly, but never
    /// those below it. Bytes from 0x80 aren't marked, because their top bits are masked out.
    @inline(__always)
    private static func stopBits(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let below = word &- (ones &* 0x20)
        return (below | (quotes &- ones) | (backslashes &- ones)) & ~word & topBits
    }
}
