import Encoding
import Testing

@Suite struct TruncatedTextTests {
    @Test(
        "Truncates a long string between characters and leaves a short one unchanged",
        arguments: [("abc", "abc"), ("abcd", "abc…"), ("äöü", "äöü"), ("äöüß", "äöü…"), ("", "")])
    func truncated(text: String, expected: String) {
        #expect(text.truncated(to: 3, "…") == expected)
    }
}
