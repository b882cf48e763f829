import ParseModel
import Testing

@Suite("Patterns are matched in linear time")
struct LinearPatternTests {
    @Test(
        "A pattern is found, or not",
        arguments: [
            ("", "", "", true), ("a", "", "cab", true), ("^a", "", "ba", false), ("a$", "", "ba", true),
            ("a.c", "", "a\nc", false), ("a.c", "s", "a\nc", true), ("^b$", "", "a\nb", false),
            ("^b$", "m", "a\nb", true), ("A", "", "a", false), ("A", "i", "a", true), ("[A-C]x", "i", "bX", true),
            ("[^a]", "", "a", false), ("[^a]", "", "\n", false), ("[^a]", "s", "\n", true), ("[^A]", "i", "a", false),
            ("a|bc|", "", "x", true), ("^(a|bc)$", "", "bc", true), ("^(a|bc)+$", "", "abcbca", true),
            ("^(?:ab)*$", "", "abab", true), ("^(?<n>ab)?$", "", "ab", true), ("^a{2}$", "", "aaa", false),
            ("^a{2,}$", "", "aaa", true), ("^a{0,2}$", "", "aaa", false), ("^a{1,3}?$", "", "aaa", true),
            ("a{,2}", "", "a{,2}", true), ("\\d+\\s\\w", "", "12 _", true), ("^\\D\\W\\S$", "", "a-b", true),
            ("[\\d-]+x", "", "1-x", true), ("[\\D]", "", "5", false), ("\\bcat\\b", "", "a cat.", true),
            ("\\bcat\\b", "", "concat", false), ("\\Bcat", "", "concat", true), ("\\Aa\\z", "", "a", true),
            ("\\Qa.c\\E", "", "a.c", true), ("\\Qa.c\\E", "", "abc", false), ("\\u00e9", "", "é", true),
            ("\\x41", "", "A", true), ("(?i)ab", "", "AB", true), ("a b # c", "x", "ab", true),
            ("[.*]", "", "x", false), ("\\.", "", "x", false), ("ä+", "", "ää", true), ("^.$", "", "𝄞", true),
            ("(a*)*b", "", "aac", false), ("^(a?){3}a{3}$", "", "aaa", true), ("\\t\\n", "", "\t\n", true),
        ])
    func finds(pattern: String, options: String, text: String, expected: Bool) throws {
        #expect(try LinearPattern(pattern, options: options).finds(in: text) == expected)
    }

    @Test(
        "What refers back, looks around, or is no pattern is refused",
        arguments: [
            "(a)\\1", "(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(", ")", "[", "*", "a**", "a{3,2}", "[b-a]", "\\",
        ])
    func refuses(pattern: String) {
        #expect(throws: FilterMatchingError.unsupportedPattern) { _ = try LinearPattern(pattern, options: "") }
    }

    @Test(
        "A pattern that other engines come back in is matched, or refused, by the size of what it is",
        arguments: ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*(a*)*(a*)*b", "^(.*a){20}$"])
    func noBacktracking(pattern: String) throws {
        let text = String(repeating: "a", count: 5_000) + "!"
        #expect(try !LinearPattern(pattern, options: "").finds(in: text))
    }

    @Test("Counted repetitions in one another, and long texts under long patterns, have a limit")
    func limits() throws {
        #expect(throws: FilterMatchingError.unsupportedPattern) {
            _ = try LinearPattern("((a{200}){200}){200}", options: "")
        }
        #expect(throws: FilterMatchingError.unsupportedPattern) {
            _ = try LinearPattern(
                String(repeating: "(", count: 1000) + String(repeating: ")", count: 1000), options: "")
        }
        let pattern = try LinearPattern("(.{0,200}){20}b", options: "")
        #expect(throws: FilterMatchingError.tooMuchWork) {
            _ = try pattern.finds(in: String(repeating: "a", count: 100_000))
        }
    }
}
