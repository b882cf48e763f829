/// Base32 (RFC 4648, section 6), the format of secrets for authenticator apps.
public enum Base32 {
    /// Decodes a text, ignoring case and missing padding.
    ///
    /// - Returns: The bytes, or nil if the text contains characters other than letters, the digits 2 to 7, spaces, and
    ///   `=` at the end.
    public static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        var isPadded = false
        for character in text.utf8 {
            let value: UInt32
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(character - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(character - UInt8(ascii: "a"))
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = UInt32(character - UInt8(ascii: "2")) + 26
            case UInt8(ascii: " "): continue
            case UInt8(ascii: "="):
                isPadded = true
                continue
            default: return nil
            }
            guard !isPadded else { return nil }
            bits = bits << 5 | value
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> count))
            }
        }
        return bytes
    }
}
