/// Tags that tell whether an answer is the same as before (`ETag`, `If-None-Match`).
enum EntityTag {
    /// A weak tag for some bytes: their number and a 64-bit hash. It is the same in every process.
    static func weak(_ bytes: [UInt8]) -> String {
        var hash: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
        var word: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            word = word << 8 | UInt64(byte)
            if index % 8 == 7 { mix(&hash, word) }
        }
        mix(&hash, word)
        return "W/\"\(String(bytes.count, radix: 16))-\(String(hash, radix: 16))\""
    }

    /// Whether a tag is among those that the caller already has. `*` stands for any; weak tags equal strong ones.
    static func matches(_ ifNoneMatch: String, _ tag: String) -> Bool {
        if ifNoneMatch.trimmingSpaces() == "*" { return true }
        return ifNoneMatch.split(separator: ",").contains { opaque($0.trimmingSpaces()) == opaque(Substring(tag)) }
    }

    private static func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    /// One step of a multiply-and-fold hash: both halves of the product count.
    private static func mix(_ hash: inout UInt64, _ word: UInt64) {
        let product = (hash ^ word).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        hash = product.high ^ product.low ^ word
    }
}
