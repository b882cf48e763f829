import ServerConfiguration
import Testing

@Suite("Regular expressions in the configuration")
struct RegularExpressionTests {
    @Test(
        "Supports lookahead, word boundaries, back references, character classes and repetition",
        arguments: [
            ("^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d).{8,}$", "abcABC123", true),
            ("^(?=.*[a-z])(?=.*\\d).{8,}$", "abcdefgh", false),
            ("^(?!(html?)$)", "htm", false), ("^(?!(html?)$)", "png", true), ("\\bfoo\\b", "a foo-b", true),
            ("\\bfoo\\b", "food", false), ("^.$", "e\u{301}", false), ("e", "e\u{301}", true), ("(a)\\1", "aa", true),
            ("[\\w.-]+@[a-z]+\\.com$", "x.y@a.com", true), ("\\p{Lu}", "É", true), ("a{2,3}", "baab", true),
        ])
    func finds(source: String, text: String, isFound: Bool) throws {
        #expect(try #require(RegularExpression(source)).isFound(in: text) == isFound)
    }

    @Test("Ignores case on request, and matches prefixes only at the start")
    func forms() throws {
        #expect(try #require(RegularExpression("post|PUT", ignoresCase: true)).isFound(in: "POST"))
        #expect(try !#require(RegularExpression("post")).isFound(in: "POST"))
        let functions = try #require(RegularExpression("functions/.*"))
        #expect(functions.isPrefix(of: "functions/a") && !functions.isPrefix(of: "x/functions/a"))
    }

    @Test(
        "Rejects malformed and unsupported patterns", arguments: ["(", "[", "*", "a**", "[z-a]", "(?<=a)b", "\\2(a)"])
    func malformed(source: String) {
        #expect(RegularExpression(source) == nil)
    }
}
