/// A hash of an answer's bytes, by which its next reader can tell whether it changed.
public enum ContentHash {
    /// The hash of some bytes: the same in every process and on every machine. It is no defence against those who make
    /// two texts of one hash on purpose.
    ///
    /// Every byte of every JSON answer goes through it, so it takes eight at a time. Reading them as one number needs an
    /// unsafe pointer; it stays inside of the closure and of the array.
    public static func of(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { buffer in
            var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(buffer.count)
            let end = buffer.count & ~7
            var offset = 0
            while offset < end {
                let word = UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                mix(&hash, word)
                offset += 8
            }
            var rest: UInt64 = 0
            for byte in buffer[end...] { rest = rest << 8 | UInt64(byte) }
            mix(&hash, rest)
            return hash
        }
    }

    /// One step of a multiply-and-fold hash: both halves of the product count.
    private static func mix(_ hash: inout UInt64, _ word: UInt64) {
        let product = (hash ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        hash = product.high ^ product.low ^ word
    }
}
