/// Escapes the eight characters that mustache.js escapes. Escaped text can't end an HTML element or a quoted attribute.
///
/// Works on bytes, because Swift treats a quotation mark with a combining accent as a different character, but browsers
/// don't.
public enum HTMLEscaping {
    /// Returns a text with all special characters escaped.
    public static func escape(_ text: String) -> String {
        write(text.utf8) { _ in false }
    }

    /// Escapes only `& < > " '`, so that URLs stay readable. Also suits XML.
    public static func escapeMarkup(_ text: some StringProtocol) -> String {
        let bytes = String(text).utf8
        return write(bytes) { "/`=".utf8.contains(bytes[$0]) }
    }

    /// Escapes a text that may already be escaped. Character references created by `escape` are kept.
    public static func escapeRemaining(_ html: String) -> String {
        let bytes = html.utf8
        return write(bytes) { position in
            references.contains { bytes[position...].starts(with: $0.utf8) }
        }
    }

    private static func write(_ bytes: String.UTF8View, unless isKept: (String.UTF8View.Index) -> Bool) -> String {
        guard bytes.contains(where: { reference($0) != nil }) else { return String(bytes) }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 32)
        for position in bytes.indices {
            let byte = bytes[position]
            if let reference = reference(byte), !isKept(position) {
                result.append(contentsOf: reference.utf8)
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func reference(_ byte: UInt8) -> String? {
        switch byte {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case UInt8(ascii: "\""): "&quot;"
        case UInt8(ascii: "'"): "&#39;"
        case UInt8(ascii: "/"): "&#x2F;"
        case UInt8(ascii: "`"): "&#x60;"
        case UInt8(ascii: "="): "&#x3D;"
        default: nil
        }
    }

    private static let references = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#x2F;", "&#x60;", "&#x3D;"]
}
