import JSON
import Testing

@Suite("Writing JSON")
struct WriterTests {
    private func written(_ body: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        body(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("Appends tokens one after another")
    func tokens() {
        let text = written { writer in
            writer.raw("{\"a\":")
            writer.integer(-42)
            writer.byte(UInt8(ascii: ","))
            writer.string("b")
            writer.raw([0x3A])
            writer.bool(true)
            writer.raw(Array(",\"c\":".utf8))
            writer.bool(false)
            writer.raw(",\"d\":")
            writer.null()
            writer.raw(",\"e\":")
            writer.number(0.5)
            Array(",\"f\":".utf8).withUnsafeBytes { writer.raw($0) }
            Array("é\n".utf8).withUnsafeBytes { writer.string(utf8: $0) }
            writer.raw(",\"g\":")
            writer.object(["h": [1, nil]])
            writer.raw(",\"i\":")
            writer.value([:])
            writer.raw("}")
        }
        #expect(
            text == #"{"a":-42,"b":true,"c":false,"d":null,"e":0.5,"f":"é\n","g":{"h":[1,null]},"i":{}}"#)
    }

    @Test(
        "Escapes strings like JSON.stringify",
        arguments: [
            ("", ""), ("plain", "plain"), ("\"", "\\\""), ("\\", "\\\\"), ("/", "/"), ("\u{08}", "\\b"), ("\t", "\\t"),
            ("\n", "\\n"), ("\u{0B}", "\\u000b"), ("\u{0C}", "\\f"), ("\r", "\\r"), ("\r\n", "\\r\\n"),
            ("\u{0}", "\\u0000"),
            ("\u{07}", "\\u0007"), ("\u{0F}", "\\u000f"), ("\u{10}", "\\u0010"), ("\u{1F}", "\\u001f"),
            ("\u{7F}", "\u{7F}"),
            ("é€𝄞", "é€𝄞"), ("\u{2028}\u{2029}", "\u{2028}\u{2029}"), ("<>&'", "<>&'"), ("\"\"\"", "\\\"\\\"\\\""),
        ])
    func escapes(plain: String, escaped: String) {
        #expect(written { $0.string(plain) } == "\"\(escaped)\"")
        #expect(written { $0.string("0123456789\(plain)0123456789") } == "\"0123456789\(escaped)0123456789\"")
    }

    @Test("Escapes characters at any position in strings of any length")
    func escapePlaces() {
        for length in 1..<27 {
            for place in 0..<length {
                for special in ["\"", "\\", "\u{01}", "\u{1F}"] {
                    var characters = [String](repeating: "é!", count: length)
                    characters[place] = special
                    let plain = characters.joined()
                    let escaped = written { $0.string(special) }.dropFirst().dropLast()
                    #expect(written { $0.string(plain) } == "\"\(plain.replacing(special, with: escaped))\"")
                }
            }
        }
    }

    @Test("Writes integers with all digits")
    func integers() {
        for integer in [0, 7, -1, 10, 99, 100, 9_007_199_254_740_993, .max, .min] {
            #expect(written { $0.integer(integer) } == "\(integer)")
        }
    }

    @Test("Writes NaN and infinities as null")
    func notFinite() {
        for double in [Double.nan, .signalingNaN, .infinity, -.infinity] {
            #expect(written { $0.number(double) } == "null")
            #expect(JSONValue.number(double).text == "null")
        }
    }

    @Test("Writes long strings in full")
    func storage() throws {
        let long = String(repeating: "abc\"é", count: 20_000)
        let part = String(long.dropFirst(3).dropLast(1))
        #expect(try JSONValue(parsing: JSONValue.string(long).serialized()).stringValue == long)
        #expect(try JSONValue(parsing: JSONValue.string(part).serialized()).stringValue == part)
    }

    @Test("Serializes values and objects compactly, with members in order")
    func values() {
        let members: JSONObject = ["z": 1, "a": [true, false, nil, [], [:]], "m": ["k\"": -0.5]]
        let text = #"{"z":1,"a":[true,false,null,[],{}],"m":{"k\"":-0.5}}"#
        #expect(JSONValue.object(members).text == text)
        #expect(members.text == text)
        #expect(members.serialized() == Array(text.utf8))
        #expect(JSONValue.object(members).serialized() == Array(text.utf8))
        #expect("\(JSONValue.object(members))" == text)
        #expect(JSONObject().text == "{}")
    }

    @Test("Truncates, replaces bytes and appends words in little-endian order")
    func changes() {
        let text = written { writer in
            for byte in UInt8(ascii: "a")...UInt8(ascii: "z") { writer.byte(byte) }
            writer.truncate(to: 3)
            writer.replace(at: 1, with: UInt8(ascii: "-"))
            writer.word(0x3837_3635_3433_3231)
            #expect(writer.count == 11)
        }
        #expect(text == "a-c12345678")
    }

    @Test("Grows from any capacity to any size")
    func growth() {
        for capacity in [0, 1, 15, 16, 17, 100] {
            var writer = JSONWriter(capacity: capacity)
            var expected: [UInt8] = []
            for length in 0..<40 {
                let piece = [UInt8](repeating: UInt8(ascii: "a") + UInt8(length % 26), count: length)
                writer.raw(piece)
                expected += piece
            }
            #expect(writer.bytes == expected)
        }
    }
}
