import JSON
import Testing

@Suite("Rejecting malformed JSON")
struct RefusalTests {
    static let unexpectedCharacters: [(String, Int)] = [
        // Structure
        ("[1,]", 3), ("[,1]", 1), ("[1,,2]", 3), ("[,]", 1), ("[1 2]", 3), ("[1:2]", 2), ("[1}", 2), ("{]", 1),
        ("]", 0), ("}", 0), (",", 0), (":", 0), ("[]]", 2), ("{}}", 2), ("[][]", 2), ("{}{}", 2), ("1 2", 2),
        ("[1],", 3), ("{\"a\":1,}", 7), ("{,\"a\":1}", 1), ("{\"a\" 1}", 5), ("{\"a\",1}", 4), ("{\"a\"::1}", 5),
        ("{\"a\":1 \"b\":2}", 7), ("{\"a\":1,,\"b\":2}", 7), ("{\"a\":}", 5), ("{\"a\"}", 4), ("{\"a\":1:2}", 6),
        ("{a:1}", 1), ("{'a':1}", 1), ("{1:1}", 1), ("{null:1}", 1), ("{[]:1}", 1), ("{\"a\":1]", 6),
        // Words
        ("nul1", 3), ("True", 0), ("TRUE", 0), ("trux", 3), ("truee", 4), ("nullx", 4), ("falsy", 4), ("undefined", 0),
        ("NaN", 0), ("Infinity", 0), ("-Infinity", 1), ("[NaN]", 1), ("nan", 1),
        // Numbers
        ("01", 1), ("-01", 2), ("00", 1), ("+1", 0), (".5", 0), ("-.5", 1), ("1.e5", 2), ("[1.]", 3), ("[-]", 2),
        ("1.5.5", 3), ("[1e]", 3), ("[1e+]", 4), ("1e1.5", 3), ("1ee5", 2), ("--1", 1), ("1-1", 1), ("- 1", 1),
        ("0x1F", 1), ("1_000", 1), ("1f", 1), ("1,000", 1), ("[1 000]", 3), ("1e 5", 2), ("0e+-1", 3), ("१", 0),
        // Strings and comments
        ("'a'", 0), ("\"a\"\"b\"", 3), ("\"a\"b", 3), ("`a`", 0), ("[\"a\" \"b\"]", 5), ("\\u0041", 0),
        ("/* c */1", 0), ("1//c", 1), ("[1,/**/2]", 3), ("#", 0), ("<x>", 0), ("{\"a\":/*c*/1}", 5),
        // Whitespace that JSON doesn't allow
        ("[\u{0C}1]", 1), ("\u{0B}1", 0), ("\u{A0}1", 0), ("1\u{2028}", 1), ("\u{0}", 0), ("1\u{0}", 1), ("[\u{0}]", 1),
    ]

    @Test("Rejects unexpected characters and reports their offset", arguments: unexpectedCharacters)
    func unexpectedCharacter(text: String, offset: Int) {
        #expect(throws: JSONError(offset: offset, reason: "unexpected character")) { try JSONValue(parsing: text) }
    }

    @Test(
        "Rejects truncated documents and reports the end as the offset",
        arguments: [
            "", " ", "\n\n", "[", "[ ", "[1", "[1,", "[1, ", "[[1]", "{", "{ ", "{\"a\"", "{\"a\" ", "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,", "{\"a\":{}", "\"", "\"abc", "\"abcdefghijk", "\"a\\", "\"a\\u", "\"\\u00", "\"\\u00e9",
            "\"\\n",
            "n", "nul", "tru", "fals", "-", "1.", "1.5e", "1e+", "1E-", "[\"a", "\"\\ud800\\u", "\"\\ud800\\",
        ])
    func unexpectedEnd(text: String) {
        #expect(throws: JSONError(offset: text.utf8.count, reason: "unexpected end")) { try JSONValue(parsing: text) }
    }

    @Test("Rejects every proper prefix of a document")
    func truncation() throws {
        let text = "{\"a\":[1.5,-2e3,true,false,null,\"b\\u00e9\\ud83d\\ude00\\n\"],\"é\":{\"c\":{}}}"
        let bytes = Array(text.utf8)
        #expect(throws: Never.self) { try JSONValue(parsing: bytes) }
        for count in 0..<bytes.count {
            #expect(throws: JSONError.self) { try JSONValue(parsing: bytes[..<count]) }
        }
    }

    @Test(
        "Rejects numbers too large for a double",
        arguments: ["1e309", "-1e309", "1e400", "123e999999999999999999", "1.8e308", "[1e400]"])
    func numberOutOfRange(text: String) {
        let offset = text.hasPrefix("[") ? 1 : 0
        #expect(throws: JSONError(offset: offset, reason: "number out of range")) { try JSONValue(parsing: text) }
    }

    @Test("Rejects integers of 400 digits and reads those of 300")
    func longIntegers() throws {
        #expect(throws: JSONError(offset: 0, reason: "number out of range")) {
            try JSONValue(parsing: String(repeating: "9", count: 400))
        }
        #expect(try JSONValue(parsing: "1" + String(repeating: "0", count: 299)) == 1e299)
    }

    @Test("Rejects UTF-16 and UTF-32")
    func otherEncodings() {
        for bytes: [UInt8] in [
            [0xFF, 0xFE, 0x31, 0x00], [0xFE, 0xFF, 0x00, 0x31], [0x31, 0x00], [0x00, 0x31], [0x00, 0x00, 0x00, 0x31],
        ] {
            #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
        }
    }

    @Test("An error's description contains its offset")
    func description() {
        #expect(JSONError(offset: 7, reason: "unexpected end").description == "unexpected end at byte 7")
    }
}
