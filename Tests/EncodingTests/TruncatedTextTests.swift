import Encoding
import Testing

@Suite struct TruncatedTextTests {
    @Test(
        "A text is cut at characters, and one that fits stays as it is",
        arguments: [("abc", "abc"), ("abcd", "abc…"), ("äöü", "äöü"), ("äöüß", "äöü…"), ("", "")])
    func truncated(text: String, expected: String) {
        #expect(text.truncated(to: 3, "…") == expected)
    }
}
