import Encoding
import Foundation

/// Base64 with the alphabet for URLs (RFC 4648, section 5).
public enum Base64URL {
    /// Encodes bytes without padding.
    public static func encode(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Decodes a text of this alphabet or the usual one, padded or not. Returns nil for any other text.
    public static func decode(_ text: String) -> [UInt8]? {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        while plain.hasSuffix("=") { plain.removeLast() }
        plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        return Data(base64Encoded: plain).map { Array($0) }
    }

    /// Decodes only the text that ``encode(_:)`` returns for the bytes. Returns nil for any other text.
    public static func decodeExactly(_ text: String) -> [UInt8]? {
        guard let bytes = decode(text), ByteEquality.areSame(encode(bytes), text) else { return nil }
        return bytes
    }
}
