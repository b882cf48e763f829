import ServerConfiguration
import Testing

@Suite("Regular expressions of the configuration")
struct RegularExpressionTests {
    @Test(
        "An expression finds what it says",
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

    @Test("Cases are ignored where wanted; a prefix begins the text")
    func forms() throws {
        #expect(try #require(RegularExpression("post|PUT", ignoresCase: true)).isFound(in: "POST"))
        #expect(try !#require(RegularExpression("post")).isFound(in: "POST"))
        let functions = try #require(RegularExpression("functions/.*"))
        #expect(functions.isPrefix(of: "functions/a") && !functions.isPrefix(of: "x/functions/a"))
    }

    @Test("What is no expression is refused", arguments: ["(", "[", "*", "a**", "[z-a]", "(?<=a)b", "\\2(a)"])
    func malformed(source: String) {
        #expect(RegularExpression(source) == nil)
    }
}
