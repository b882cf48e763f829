/// Percent-encoding for URLs, forms and file names (RFC 3986, section 2.1).
public enum PercentEncoding {
    /// Encodes a text like JavaScript's `encodeURIComponent`: all bytes except letters, digits and `-_.!~*'()`.
    ///
    /// - Parameter keepingSlashes: Whether to keep slashes, as in paths.
    public static func encode(_ text: String, keepingSlashes: Bool = false) -> String {
        encode(text, keepingOnly: keepingSlashes ? "-_.!~*'()/" : "-_.!~*'()")
    }

    /// Encodes all bytes except ASCII letters, digits and the given characters.
    ///
    /// - Parameter marks: The characters to keep, in addition to letters and digits.
    public static func encode(_ text: String, keepingOnly marks: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || marks.utf8.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Encodes a byte. Calls `write` once or three times.
    @inlinable
    public static func encode(_ byte: UInt8, keepingSlashes: Bool, _ write: (UInt8) -> Void) {
        if isUnreserved(byte) || keepingSlashes && byte == UInt8(ascii: "/") { return write(byte) }
        write(UInt8(ascii: "%"))
        write(digit(byte >> 4))
        write(digit(byte & 15))
    }

    /// Encodes spaces, control and non-ASCII characters, ``"<>`{}``, and `%` unless two hexadecimal digits follow it.
    public static func encodeURL(_ text: some StringProtocol) -> String {
        let bytes = Array(text.utf8)
        var encoded: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let isKept =
                byte == UInt8(ascii: "%")
                ? bytes[index...].dropFirst().prefix(2).count { $0.hexadecimalDigit != nil } == 2 : isOfURL(byte)
            if isKept {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func isOfURL(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"\"<>`{}".utf8.contains(byte)
    }

    /// Decodes `%XX`.
    ///
    /// - Parameter plusIsSpace: Whether `+` means a space, as in query strings and forms.
    /// - Returns: The text, or nil if a `%` isn't followed by two hexadecimal digits or the result isn't valid UTF-8.
    @inlinable
    public static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        let isPlain = text.utf8.allSatisfy { $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "+") }
        return isPlain ? String(text) : decode(encoded: String(text), plusIsSpace: plusIsSpace)
    }

    @usableFromInline
    static func decode(encoded text: String, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexadecimalDigit, let low = rest.next()?.hexadecimalDigit else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace:
                bytes.append(UInt8(ascii: " "))
            default:
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    @inlinable
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        // - _ . ! ~ * ' ( )
        case 0x2D, 0x5F, 0x2E, 0x21, 0x7E, 0x2A, 0x27, 0x28, 0x29: true
        default: false
        }
    }

    @inlinable
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") - 10 + value
    }
}

extension [UInt8] {
    /// Parses pairs of hexadecimal digits. Returns nil for any other text.
    public init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap(\.hexadecimalDigit)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits.
    public var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
