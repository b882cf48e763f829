import BSON
import JSON
import TestTools
import Testing

/// Reading of BSON documents, including invalid ones.
@Suite struct BSONReaderTests {
    @Test("Reads every BSON type")
    func everyType() throws {
        let document = try BSONReader.document(BSONBytes.everything)
        let id = try #require(BSONObjectID(hexadecimal: "0102030405060708090a0b0c"))
        let expected: [(Name, BSONValue)] = [
            ("double", .double(1.5)), ("text", .string("a\u{1F984}")),
            ("document", .document(BSONDocument([.init("x", .int32(-1))]))), ("array", .array([.bool(true), .null])),
            ("binary", .binary(subtype: 0, [1, 2, 3])), ("old", .binary(subtype: 2, [1, 2, 3])),
            ("undefined", .undefined), ("id", .objectID(id)), ("bool", .bool(false)), ("date", .date(-1)),
            ("null", .null), ("regex", .regularExpression(pattern: "a.b", options: "i")),
            ("pointer", .dbPointer(collection: "c", id)), ("code", .code("f()")), ("symbol", .symbol("s")),
            ("scoped", .codeWithScope("g()", BSONDocument())), ("int", .int32(7)), ("time", .timestamp(1 << 32 | 2)),
            ("long", .int64(1 << 60)), ("decimal", .decimal128(BSONDecimal(low: 5, high: 0x303E << 48))),
            ("min", .minKey), ("max", .maxKey),
        ]
        #expect(document.members == expected.map { BSONDocument.Member($0, $1) })
        #expect(document["decimal"]?.numberValue == 0.5)
    }

    @Test("Rejects a document truncated at any byte")
    func truncated() {
        let bytes = BSONBytes.everything
        for count in 0..<bytes.count {
            #expect(throws: BSONError.self, "\(count) bytes") { try BSONReader.document(Array(bytes.prefix(count))) }
            #expect(throws: BSONError.self) { try BSONReader.document(bytes, in: 0..<count) }
        }
        #expect(throws: BSONError.self) { try BSONReader.document(bytes + [0]) }
    }

    @Test("Rejects wrong lengths, missing terminators and unknown types, and reports where they are")
    func malformed() {
        let scenarios: [(String, [UInt8], String)] = [
            ("a negative length", BSONBytes.int32(-1) + [0], "an invalid length at byte 0"),
            ("a length of zero", BSONBytes.int32(0) + [0], "an invalid length at byte 0"),
            ("a length beyond the input", BSONBytes.int32(100) + [0], "an invalid length at byte 0"),
            (
                "a text of 2 GB", BSONBytes.document(BSONBytes.member(2, "a", BSONBytes.int32(Int(Int32.max)))),
                "unexpected end at byte 11"
            ),
            (
                "an unterminated string", BSONBytes.document(BSONBytes.member(2, "a", BSONBytes.int32(1) + [7])),
                "an unterminated string at byte 11"
            ),
            (
                "binary data of 2 GB", BSONBytes.document(BSONBytes.member(5, "a", [255, 255, 255, 127, 0])),
                "unexpected end at byte 12"
            ),
            (
                "a negative size", BSONBytes.document(BSONBytes.member(5, "a", [255, 255, 255, 255, 0])),
                "unexpected end at byte 12"
            ),
            ("an unknown type", BSONBytes.document([0x20, 97, 0]), "an unknown BSON type at byte 7"),
            ("a boolean of 2", BSONBytes.document(BSONBytes.member(8, "a", [2])), "an invalid boolean at byte 8"),
            ("an unterminated key", [10, 0, 0, 0, 0x0A, 97, 97, 97, 97, 97], "an unterminated key at byte 5"),
            ("a key that is not UTF-8", BSONBytes.document([0x0A, 0xC3, 0]), "a key that is not UTF-8 at byte 5"),
            ("an end too early", [7, 0, 0, 0, 0, 0, 0], "a truncated document at byte 5"),
        ]
        for (name, bytes, expected) in scenarios {
            do {
                _ = try BSONReader.document(bytes)
                Issue.record("\(name) was read")
            } catch {
                #expect("\(error)" == expected, "\(name)")
            }
        }
    }

    @Test("Keeps a string that isn't UTF-8 as bytes and reads the other members")
    func malformedText() throws {
        let bytes = BSONBytes.document(
            BSONBytes.member(2, "a", BSONBytes.int32(3) + [0xC3, 0x28, 0])
                + BSONBytes.member(2, "b", BSONBytes.text("x")))
        let document = try BSONReader.document(bytes)
        #expect(document["a"] == .malformedText([0xC3, 0x28]))
        #expect(document["b"] == .string("x"))
    }

    @Test("Reads 200 levels of nesting, and rejects more without exhausting the stack")
    func depth() throws {
        _ = try BSONReader.document(BSONBytes.nested(100))
        _ = try BSONReader.document(BSONBytes.nested(200))
        for depth in [201, 2000] {
            let error = #expect(throws: BSONError.self) { try BSONReader.document(BSONBytes.nested(depth)) }
            #expect(error?.reason == "nesting deeper than 200")
        }
    }

    @Test("Reads or rejects 10,000 mutated documents without crashing")
    func mutations() {
        BSONMutations.run(seed: 24, count: 10_000)
    }

    @Test(
        "Decimal numbers keep their digits",
        arguments: [
            "0", "-0", "1", "-12.5", "0.1", "0.000001", "1E-7", "1.5E+30", "1234567890123456789012345678901234",
            "9.999999999999999999999999999999999E+6144", "1E-6176", "NaN", "Infinity", "-Infinity", "0.00",
        ])
    func decimals(text: String) throws {
        let number = try #require(BSONDecimal(text: text))
        #expect(number.text == text)
        if let double = Double(text), double.isFinite { #expect(number.double == double) }
    }

    @Test(
        "Rejects invalid decimal numbers", arguments: ["", "x", "1.2.3", "1E", "12345678901234567890123456789012345"])
    func noDecimals(text: String) { #expect(BSONDecimal(text: text) == nil) }
}
