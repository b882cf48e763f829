import JSON
import Testing

@Suite("Reading JSON strings")
struct StringReadingTests {
    /// Scalars are compared, because Swift's strings are equal if they are canonically equivalent.
    private func scalars(of text: String) throws -> [Unicode.Scalar] {
        let string = try #require(try JSONValue(parsing: text).stringValue)
        return Array(string.unicodeScalars)
    }

    @Test(
        "Decodes every escape",
        arguments: [
            ("\\\"", "\""), ("\\\\", "\\"), ("\\/", "/"), ("\\b", "\u{08}"), ("\\f", "\u{0C}"), ("\\n", "\n"),
            ("\\r", "\r"), ("\\t", "\t"), ("\\u0041", "A"), ("\\u00e9", "é"), ("\\u00E9", "é"), ("\\u20AC", "€"),
            ("\\uffff", "\u{FFFF}"), ("\\u0000", "\u{0}"), ("\\u001f", "\u{1F}"), ("\\u0022", "\""),
            ("\\ud834\\udd1e", "𝄞"), ("\\uDBFF\\uDFFF", "\u{10FFFF}"), ("\\ud800\\udc00", "\u{10000}"),
            ("a\\nb\\tc", "a\nb\tc"), ("\\\\u0041", "\\u0041"), ("é\\u0301x", "é\u{301}x"),
        ])
    func escapes(escaped: String, plain: String) throws {
        #expect(try scalars(of: "\"\(escaped)\"") == Array(plain.unicodeScalars))
        #expect(
            try scalars(of: "\"0123456789é\(escaped)0123456789\"")
                == Array("0123456789é\(plain)0123456789".unicodeScalars))
    }

    @Test(
        "Replaces unpaired surrogates with U+FFFD",
        arguments: [
            ("\\ud800", "\u{FFFD}"), ("\\udc00", "\u{FFFD}"), ("\\ud800\\ud800", "\u{FFFD}\u{FFFD}"),
            ("\\ud800a", "\u{FFFD}a"), ("\\ud800\\n", "\u{FFFD}\n"), ("\\ud800\\u0041", "\u{FFFD}A"),
            ("\\udd1e\\ud834", "\u{FFFD}\u{FFFD}"), ("\\ud800\\ud834\\udd1e", "\u{FFFD}𝄞"), ("\\ud800é", "\u{FFFD}é"),
        ])
    func loneSurrogates(escaped: String, plain: String) throws {
        #expect(try scalars(of: "\"\(escaped)\"") == Array(plain.unicodeScalars))
    }

    @Test(
        "Rejects invalid escapes and reports the offending character",
        arguments: [
            ("\"\\a\"", 2), ("\"\\x41\"", 2), ("\"\\'\"", 2), ("\"\\0\"", 2), ("\"\\U0041\"", 2), ("\"\\é\"", 2),
            ("\"\\\n\"", 2), ("\"\\u004\"", 6), ("\"\\u00g0\"", 5), ("\"\\u{41}\"", 3), ("\"\\u 041\"", 3),
            ("\"\\ud800\\u00\"", 11), ("\"\\ud800\\x\"", 8), ("\"\\uD834\\uDd\"", 11),
        ])
    func invalidEscapes(text: String, offset: Int) {
        #expect(throws: JSONError(offset: offset, reason: "invalid escape")) { try JSONValue(parsing: text) }
    }

    @Test("Rejects unescaped control characters at any position", arguments: UInt8(0)..<0x20)
    func controlCharacters(byte: UInt8) {
        for length in 0..<18 {
            let before = [UInt8](repeating: 0x61, count: length)
            let bytes: [UInt8] =
                [0x22] + before + [byte] + [0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x61, 0x22]
            #expect(throws: JSONError(offset: length + 1, reason: "unescaped control character")) {
                try JSONValue(parsing: bytes)
            }
        }
    }

    @Test("Accepts all other scalars unescaped, including DEL and line separators")
    func plainScalars() throws {
        for scalar in [
            "\u{20}", "\u{7F}", "\u{80}", "\u{9F}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{FFFE}", "\u{10FFFF}", "'",
            "/",
        ] {
            #expect(try scalars(of: "\"\(scalar)\"") == Array(scalar.unicodeScalars))
        }
    }

    @Test("Reads strings of any length that end in ASCII, in non-ASCII or in an escape")
    func lengths() throws {
        for length in 0..<70 {
            let plain = String(repeating: "x", count: length)
            #expect(try JSONValue(parsing: "[\"\(plain)\",\"\(plain)é\"]") == [.string(plain), .string(plain + "é")])
            #expect(try JSONValue(parsing: "\"\(plain)\\n\"") == .string(plain + "\n"))
        }
    }

    static let invalidSequences: [([UInt8], Int)] = [
        ([0x80], 0), ([0xBF], 0), ([0xC0, 0xAF], 0), ([0xC1, 0xBF], 0), ([0xC3], 0), ([0xC3, 0x28], 0),
        ([0xE0, 0x80, 0xAF], 0), ([0xE2, 0x82], 0), ([0xED, 0xA0, 0x80], 0), ([0xED, 0xBF, 0xBF], 0),
        ([0xF0, 0x80, 0x80, 0xAF], 0), ([0xF0, 0x9F, 0x98], 0), ([0xF4, 0x90, 0x80, 0x80], 0),
        ([0xF5, 0x80, 0x80, 0x80], 0),
        ([0xFC, 0x83, 0xBF, 0xBF, 0xBF, 0xBF], 0), ([0xFE], 0), ([0xFF], 0), ([0x61, 0xC3, 0xA9, 0xE9], 3),
    ]

    @Test("Rejects invalid UTF-8 in values and keys and reports its first byte", arguments: invalidSequences)
    func invalidUTF8(sequence: [UInt8], index: Int) {
        #expect(throws: JSONError(offset: 1 + index, reason: "invalid UTF-8")) {
            try JSONValue(parsing: [0x22] + sequence + [0x22])
        }
        #expect(throws: JSONError(offset: 2 + index, reason: "invalid UTF-8")) {
            try JSONValue(parsing: [0x7B, 0x22] + sequence + [0x22, 0x3A, 0x31, 0x7D])
        }
        #expect(throws: JSONError(offset: 1 + index, reason: "invalid UTF-8")) {
            try JSONValue(parsing: [0x22] + sequence + Array("\\n\"".utf8))
        }
        #expect(throws: JSONError.self) { try JSONValue(parsing: sequence) }
    }

    @Test("An escape can't complete a UTF-8 sequence")
    func escapeAfterLeadByte() {
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0xC3] + Array("\\u00a9\"".utf8)) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: Array("\"\\u00c3".utf8) + [0xA9, 0x22]) }
    }
}
