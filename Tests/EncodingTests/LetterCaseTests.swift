import Encoding
import Testing

@Suite("ASCII letter case")
struct LetterCaseTests {
    @Test(
        "Changes the case of A to Z only",
        arguments: [
            ("Text/HTML", "text/html", "TEXT/HTML"), ("", "", ""), ("x", "x", "X"), ("@[`{", "@[`{", "@[`{"),
            ("\u{212A}k", "\u{212A}k", "\u{212A}K"), ("\u{C9}a", "\u{C9}a", "\u{C9}A"),
            ("po\u{17F}t", "po\u{17F}t", "PO\u{17F}T"),
        ])
    func cases(text: String, lower: String, upper: String) {
        #expect(Array(text.asciiLowercased.utf8) == Array(lower.utf8))
        #expect(Array(text.asciiUppercased.utf8) == Array(upper.utf8))
        #expect(Array(text.dropFirst(0).asciiLowercased.utf8) == Array(lower.utf8))
    }
}
