import Encoding
import JSON

/// A regular expression of the configuration, made once; one that is a plain word is looked for as such.
struct Pattern: Sendable {
    private enum Form: Sendable {
        case word([UInt8])
        case expression(RegularExpression)
    }

    private let form: Form

    /// Reads a pattern. One that is no regular expression stands for itself.
    init(_ source: String) {
        let isWord = source.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        if !isWord, let expression = RegularExpression(source) {
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
            return expression.isFound(in: text)
        }
    }

    static func isValid(_ pattern: String) -> Bool {
        RegularExpression(pattern) != nil
    }
}

/// The routes that clients may use, as regular expressions of whole paths.
public struct RouteAllowList: Sendable {
    private let patterns: [Pattern]

    /// Reads the option; throws `ConfigurationError` for what is no list of regular expressions.
    init(json: JSONValue) throws(ConfigurationError) {
        var patterns: [Pattern] = []
        for element in json.arrayValue ?? [json] {
            guard let source = element.stringValue else {
                throw ConfigurationError("routeAllowList must be an array of strings")
            }
            guard Pattern.isValid(source) else {
                throw ConfigurationError("routeAllowList has an invalid pattern \(source)")
            }
            // A group, so that the ends belong to every alternative; not `$`, which a newline may follow.
            patterns.append(Pattern("\\A(?:\(source))\\z"))
        }
        self.patterns = patterns
    }

    /// Whether a path, without slashes at its ends, is one of the list.
    public func contains(_ path: String) -> Bool { patterns.contains { $0.isFound(in: path) } }
}
