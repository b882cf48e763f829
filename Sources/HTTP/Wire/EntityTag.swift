import Encoding
import JSON

/// Tags that tell whether an answer is the same as before (`ETag`, `If-None-Match`).
package enum EntityTag {
    /// A weak tag for some bytes: their number and a 64-bit hash. It is the same in every process.
    package static func weak(_ bytes: [UInt8]) -> String {
        var tag: [UInt8] = []
        tag.reserveCapacity(40)
        tag.append(contentsOf: "W/\"".utf8)
        appendHexadecimal(UInt64(bytes.count), to: &tag)
        tag.append(UInt8(ascii: "-"))
        appendHexadecimal(ContentHash.of(bytes), to: &tag)
        tag.append(UInt8(ascii: "\""))
        return String(decoding: tag, as: UTF8.self)
    }

    /// Every answer has a tag, and the library's numbers with a radix take longer than the hash.
    private static func appendHexadecimal(_ number: UInt64, to text: inout [UInt8]) {
        let digits = max(1, (67 - number.leadingZeroBitCount) / 4)
        for digit in (0..<digits).reversed() {
            let value = UInt8(truncatingIfNeeded: number >> UInt64(4 * digit)) & 0xF
            text.append(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value)
        }
    }

    /// Whether a tag is among those that the caller already has. `*` stands for any; weak tags equal strong ones.
    package static func matches(_ ifNoneMatch: String, _ tag: String) -> Bool {
        if ifNoneMatch.trimmingSpaces() == "*" { return true }
        return ifNoneMatch.split(separator: ",").contains { opaque($0.trimmingSpaces()) == opaque(Substring(tag)) }
    }

    private static func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }
}
