/// A hash of response bytes that lets clients detect changes.
public enum ContentHash {
    /// Returns a hash of the bytes that is the same in every process and on every machine. Not collision-resistant
    /// against attackers.
    ///
    /// Whole responses are hashed for their entity tags, so the hash processes four independent 8-byte words at a time.
    /// Loading the words requires an unsafe pointer, which doesn't leave the closure.
    public static func of(_ bytes: [UInt8]) -> UInt64 {
        bytes.withUnsafeBytes { buffer in
            func word(_ offset: Int) -> UInt64 {
                UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            }
            var lanes: (UInt64, UInt64, UInt64, UInt64) = (seed ^ UInt64(buffer.count), seed &* 3, seed &* 5, seed &* 7)
            var offset = 0
            while offset + 32 <= buffer.count {
                lanes.0 = mix(lanes.0, word(offset))
                lanes.1 = mix(lanes.1, word(offset + 8))
                lanes.2 = mix(lanes.2, word(offset + 16))
                lanes.3 = mix(lanes.3, word(offset + 24))
                offset += 32
            }
            var hash = mix(mix(lanes.0, lanes.1), mix(lanes.2, lanes.3))
            while offset + 8 <= buffer.count {
                hash = mix(hash, word(offset))
                offset += 8
            }
            return mix(hash, buffer[offset...].reduce(0) { $0 << 8 | UInt64($1) })
        }
    }

    /// Returns the hash as eleven base-64 digits, lowest first, for entity tags.
    ///
    /// Swift stores strings of this length inline, so this allocates nothing.
    public static func text(of bytes: [UInt8]) -> String {
        var hash = of(bytes)
        return String(unsafeUninitializedCapacity: 11) { text in
            for position in 0..<11 {
                text[position] = digits[Int(hash & 63)]
                hash >>= 6
            }
            return 11
        }
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    private static var seed: UInt64 { 0x9E37_79B9_7F4A_7C15 }

    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low ^ word
    }
}
