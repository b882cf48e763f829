import JSON
import TestTools
import Testing

@Suite("JSON names") struct NameTests {
    /// Texts that Swift considers equal, or that differ only invisibly.
    static let pairs: [(String, String)] = [
        ("K", "\u{212A}"), ("\u{C5}", "\u{212B}"), ("\u{C5}", "A\u{30A}"), ("\u{212B}", "A\u{30A}"),
        ("caf\u{E9}", "cafe\u{301}"), ("\u{AC00}", "\u{1100}\u{1161}"), ("\u{3A9}", "\u{2126}"), (";", "\u{37E}"),
        ("`", "\u{1FEF}"), ("a", "a\u{200D}"), ("a", "A"), ("", "\u{200B}"),
        ("a long name that no small string holds K", "a long name that no small string holds \u{212A}"),
    ]

    @Test("Names with different bytes are different, even if they look alike", arguments: pairs)
    func lookAlikes(_ left: String, _ right: String) {
        #expect(Name(left) != Name(right))
        #expect(Set([Name(left), Name(right)]).count == 2)
        #expect((Name(left) < Name(right)) != (Name(right) < Name(left)))
        #expect(JSONValue.string(left) != .string(right))
        #expect(Set([JSONValue.string(left), .string(right)]).count == 2)
        #expect(!left.hasSameBytes(as: right))
        #expect(![Name(left)].contains(right))
        #expect(!Set([Name(left)]).contains(right))
    }

    @Test("Members with look-alike keys stay separate", arguments: pairs)
    func members(_ left: String, _ right: String) throws {
        let object: JSONValue = .object([Name(left): 1, Name(right): 2])
        let read = try JSONValue(parsing: object.text)
        #expect(read.objectValue?.count == 2)
        #expect(read[left] == 1)
        #expect(read[right] == 2)
        #expect(read.text == object.text)
        #expect(read == object)
        #expect(try JSONValue(parsing: "{\(JSONValue.string(left).text):1}") != .object([Name(right): 1]))
    }

    @Test("Compares prefixes and suffixes by bytes, even within a character")
    func affixes() {
        #expect(Name("role:K").hasPrefix("role:"))
        #expect(!Name("role:\u{212A}").hasPrefix("role:K"))
        #expect(Name("role:\u{301}x").hasPrefix("role:"))
        #expect(Name("a.\u{301}b").hasPrefix("a."))
        #expect(Name("x\r\n").hasSuffix("\n"))
        #expect(!Name("n").hasSuffix("long"))
        #expect(Name("\u{301}").hasPrefix(""))
    }

    @Test("Sorts names by their bytes")
    func order() {
        let names: [Name] = ["\u{1F600}", "\u{FF5E}", "z", "Z", "", "e\u{301}", "\u{E9}", "za"]
        #expect(names.sorted().texts == ["", "Z", "e\u{301}", "z", "za", "\u{E9}", "\u{FF5E}", "\u{1F600}"])
    }

    @Test("Equal bytes give equal names and hashes, however the strings were created")
    func equalBytes() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<500 {
            let scalars = (0..<Int.random(in: 0...24, using: &random)).compactMap { _ in
                Unicode.Scalar(UInt32.random(in: 1...0x2FFF, using: &random))
            }
            let text = String(String.UnicodeScalarView(scalars))
            let copy = String(decoding: Array(text.utf8), as: UTF8.self)
            let part = Substring("..\(text)..").utf8.dropFirst(2).dropLast(2)
            #expect(Name(text) == Name(copy))
            #expect(Name(text).hashValue == Name(copy).hashValue)
            #expect(Name(text) == Name(Substring(part)))
            #expect(Name(text).hashValue == Name(Substring(part)).hashValue)
        }
    }
}
