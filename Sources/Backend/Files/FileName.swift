/// Names of files, in URLs and on disk.
public enum FileName {
    /// Encodes a name as JavaScript's `encodeURIComponent` does: everything but letters, digits and `-_.!~*'()` becomes
    /// `%XX`. This is the name on disk.
    public static func percentEncoded(_ name: String) -> String {
        encode(name, keepingSlashes: false)
    }

    /// Encodes a name for a URL: as ``percentEncoded(_:)``, but the slashes between folders stay.
    public static func urlPath(_ name: String) -> String {
        encode(name, keepingSlashes: true)
    }

    private static func encode(_ name: String, keepingSlashes: Bool) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(name.utf8.count)
        for byte in name.utf8 {
            if isUnreserved(byte) || (keepingSlashes && byte == UInt8(ascii: "/")) {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(hexadecimalDigits[Int(byte >> 4)])
                result.append(hexadecimalDigits[Int(byte & 15)])
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            unreservedMarks.contains(byte)
        }
    }

    private static let unreservedMarks = Array("-_.!~*'()".utf8)
    private static let hexadecimalDigits = Array("0123456789ABCDEF".utf8)
}
