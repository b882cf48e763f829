import JSON
import Testing

@Suite("Reading JSON documents")
struct ReadingTests {
    @Test(
        "Reads every kind of value",
        arguments: [
            ("null", .null), ("true", true), ("false", false), ("0", 0), ("-1.5", -1.5), ("\"a\"", "a"), ("\"\"", ""),
            ("[]", []), ("{}", [:]), ("[1,[2,[3]]]", [1, [2, [3]]]), ("[null,1,\"1\",{}]", [nil, 1, "1", [:]]),
            ("{\"a\":{\"b\":[]},\"c\":false}", ["a": ["b": []], "c": false]), ("{\"\":0}", ["": 0]),
        ] as [(String, JSONValue)])
    func kinds(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
    }

    @Test(
        "Skips spaces, tabs, line feeds and carriage returns between tokens",
        arguments: [" [1]", "[1] ", "[ 1]", "[1 ]", "\t[\n1\r]\n", "[\r\n\t 1 \r\n]\r\n"])
    func whitespace(text: String) throws {
        #expect(try JSONValue(parsing: text) == [1])
    }

    @Test("Skips whitespace around keys and colons")
    func whitespaceInObjects() throws {
        #expect(try JSONValue(parsing: " { \"a\" : 1 ,\n\"b\"\t:\r2 } ") == ["a": 1, "b": 2])
    }

    @Test("Skips a byte order mark at the start and rejects it elsewhere")
    func byteOrderMark() throws {
        #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x31]) == 1)
        #expect(throws: JSONError(offset: 1, reason: "unexpected character")) {
            try JSONValue(parsing: [0x31, 0xEF, 0xBB, 0xBF])
        }
        #expect(throws: JSONError(offset: 3, reason: "unexpected end")) { try JSONValue(parsing: [0xEF, 0xBB, 0xBF]) }
    }

    @Test("Reads arrays, slices, strings, raw buffers and sequences without contiguous storage")
    func sources() throws {
        let text = "{\"key\":[1,\"é\"]}"
        let expected: JSONValue = ["key": [1, "é"]]
        let bytes = Array(text.utf8)
        #expect(try JSONValue(parsing: text) == expected)
        #expect(try JSONValue(parsing: bytes) == expected)
        #expect(try JSONValue(parsing: ("xx" + text).utf8.dropFirst(2)) == expected)
        #expect(try JSONValue(parsing: (bytes + [0x20])[0..<bytes.count]) == expected)
        #expect(try JSONValue(parsing: bytes.lazy.map { $0 }) == expected)
        #expect(try bytes.withUnsafeBytes { try JSONValue(parsing: $0) } == expected)
        #expect(throws: JSONError(offset: 0, reason: "unexpected end")) {
            try JSONValue(parsing: UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    @Test("Preserves the order of members")
    func memberOrder() throws {
        let value = try JSONValue(parsing: "{\"z\":1,\"a\":2,\"m\":3,\"b\":4}")
        #expect(value.objectValue.map { Array($0.keys) } == ["z", "a", "m", "b"])
    }

    @Test("A duplicate key keeps its first position and its last value")
    func duplicateKeys() throws {
        let value = try JSONValue(parsing: "{\"a\":1,\"b\":2,\"a\":{\"c\":3},\"\\u0062\":4}")
        #expect(value.text == "{\"a\":{\"c\":3},\"b\":4}")
    }

    @Test("Reads keys that are special in JavaScript like any other")
    func specialKeys() throws {
        let text = "{\"__proto__\":{\"x\":1},\"constructor\":2,\"length\":3,\"2\":4,\"1\":5}"
        #expect(try JSONValue(parsing: text).text == text)
    }
}
