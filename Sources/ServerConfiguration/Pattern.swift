import Foundation

/// A regular expression of the configuration, made once; one that is a plain word is looked for as such.
struct Pattern: Sendable {
    private enum Form: Sendable {
        case word([UInt8])
        case expression(NSRegularExpression)
    }

    private let form: Form

    /// Reads a pattern. One that is no regular expression stands for itself.
    init(_ source: String) {
        let isWord = source.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        if !isWord, let expression = try? NSRegularExpression(pattern: source) {
            form = .expression(expression)
        } else {
            form = .word(Array(source.utf8))
        }
    }

    /// The fewest bytes of a text in which the pattern can be found, as far as that is known.
    var shortestText: Int {
        switch form {
        case .word(let word): word.count
        case .expression: 0
        }
    }

    /// Whether the pattern is found anywhere in a text.
    func isFound(in text: String) -> Bool {
        switch form {
        case .word(let word):
            var rest = text.utf8[...]
            while rest.count >= word.count {
                if rest.starts(with: word) { return true }
                rest.removeFirst()
            }
            return false
        case .expression(let expression):
            let whole = NSRange(text.startIndex..., in: text)
            return expression.firstMatch(in: text, range: whole) != nil
        }
    }

    /// Whether a text is a pattern.
    static func isValid(_ pattern: String) -> Bool {
        (try? NSRegularExpression(pattern: pattern)) != nil
    }
}
