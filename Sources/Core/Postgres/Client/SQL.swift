/// Quotes names and strings for SQL.
public enum SQL {
    /// Returns a name in double quotes. All table and column names in statements are quoted like this.
    ///
    /// A NUL, which names can't contain, becomes U+FFFD.
    public static func identifier(_ name: String) -> String { quoted(name, with: UInt8(ascii: "\"")) }

    /// Returns text in single quotes, for statements without parameters, such as table definitions.
    ///
    /// A NUL, which PostgreSQL's text can't contain, becomes U+FFFD.
    public static func literal(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "\\")) else { return quoted(text, with: UInt8(ascii: "'")) }
        // With E, backslashes mean the same regardless of standard_conforming_strings.
        return "E" + quoted(text, with: UInt8(ascii: "'"), doublingBackslashes: true)
    }

    private static func quoted(_ text: String, with quote: UInt8, doublingBackslashes: Bool = false) -> String {
        if !text.utf8.contains(where: { $0 == quote || $0 == 0 || $0 == UInt8(ascii: "\\") }) {
            let mark = String(UnicodeScalar(quote))
            return mark + text + mark
        }
        // Bytes, not characters: Swift merges a quote and a combining mark into one character, PostgreSQL doesn't.
        var bytes: [UInt8] = [quote]
        bytes.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            switch byte {
            case 0: bytes.append(contentsOf: "\u{FFFD}".utf8)
            case quote: bytes.append(contentsOf: [quote, quote])
            case UInt8(ascii: "\\") where doublingBackslashes: bytes.append(contentsOf: [byte, byte])
            default: bytes.append(byte)
            }
        }
        bytes.append(quote)
        return String(decoding: bytes, as: UTF8.self)
    }
}
