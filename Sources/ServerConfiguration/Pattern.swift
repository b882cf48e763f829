import Foundation

/// Regular expressions of the configuration.
enum Pattern {
    /// Whether a pattern is found anywhere in a text. A pattern that is none is found as it stands.
    static func matches(_ text: String, _ pattern: String) -> Bool {
        text.range(of: pattern, options: .regularExpression) != nil || (text == pattern)
    }

    /// Whether a text is a pattern.
    static func isValid(_ pattern: String) -> Bool {
        (try? NSRegularExpression(pattern: pattern)) != nil
    }
}
