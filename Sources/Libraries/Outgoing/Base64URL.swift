import Encoding
import Platform

/// Base64 with the alphabet for URLs (RFC 4648, section 5).
public enum Base64URL {
    /// Encodes bytes without padding.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let text = Data(bytes).base64EncodedData().filter { $0 != padding }
        return String(decoding: text.map { $0 == plus ? minus : $0 == slash ? underscore : $0 }, as: UTF8.self)
    }

    /// Decodes text in this or the standard alphabet, with or without padding. Returns nil for invalid text.
    public static func decode(_ text: String) -> [UInt8]? {
        var plain = text.utf8.map { $0 == minus ? plus : $0 == underscore ? slash : $0 }
        while plain.last == padding { plain.removeLast() }
        plain += repeatElement(padding, count: (4 - plain.count % 4) % 4)
        return Data(base64Encoded: Data(plain)).map { Array($0) }
    }

    private static let (plus, minus) = (UInt8(ascii: "+"), UInt8(ascii: "-"))
    private static let (slash, underscore) = (UInt8(ascii: "/"), UInt8(ascii: "_"))
    private static let padding = UInt8(ascii: "=")

    /// Decodes only the exact text that ``encode(_:)`` returns for the bytes. Returns nil for any other text.
    public static func decodeExactly(_ text: String) -> [UInt8]? {
        guard let bytes = decode(text), ByteEquality.areSame(encode(bytes), text) else { return nil }
        return bytes
    }
}
