import Encoding
import Testing

@Suite struct PercentEncodingTests {
    @Test("Encodes like JavaScript's encodeURIComponent, optionally keeping slashes")
    func encode() {
        #expect(PercentEncoding.encode("aZ09-_.!~*'()") == "aZ09-_.!~*'()")
        #expect(PercentEncoding.encode("a b/c?ü%") == "a%20b%2Fc%3F%C3%BC%25")
        #expect(PercentEncoding.encode("a b/c", keepingSlashes: true) == "a%20b/c")
    }

    @Test("Decodes what it encoded, and treats a plus as a space only in forms")
    func decode() {
        for text in ["", "a b/c?ü%", "\u{212a}\u{0}"] {
            #expect(PercentEncoding.decode(PercentEncoding.encode(text)).map { Array($0.utf8) } == Array(text.utf8))
        }
        #expect(PercentEncoding.decode("a+b%2b") == "a+b+")
        #expect(PercentEncoding.decode("a+b%2b", plusIsSpace: true) == "a b+")
    }

    @Test("Rejects incomplete escapes and invalid UTF-8", arguments: ["%", "%4", "%zz", "%C3", "%ff%fe"])
    func refused(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }
}
