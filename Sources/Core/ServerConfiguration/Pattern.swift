import Encoding
import JSON

/// A regular expression from the configuration, compiled once. Plain words are matched without the regex engine.
struct Pattern: Sendable {
    private enum Form: Sendable {
        case word([UInt8])
        case expression(RegularExpression)
    }

    private let form: Form

    /// Creates a pattern. An invalid regular expression is searched for literally.
    init(_ source: String) {
        let isWord = source.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }
        if !isWord, let expression = RegularExpression(source) {
            form = .expression(expression)
        } else {
            form = .word(Array(source.utf8))
        }
    }

    /// A lower bound on the length, in bytes, of texts that match.
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

/// The routes that clients may use, as regular expressions that match whole paths.
public struct RouteAllowList: Sendable {
    private let patterns: [Pattern]

    /// - Throws: `ConfigurationError` if the value is not a list of regular expressions.
    init(json: JSONValue) throws(ConfigurationError) {
        var patterns: [Pattern] = []
        for element in json.arrayValue ?? [json] {
            guard let source = element.stringValue else {
                throw ConfigurationError("routeAllowList must be an array of strings")
            }
            guard Pattern.isValid(source) else {
                throw ConfigurationError("routeAllowList has an invalid pattern \(source)")
            }
            // The group applies the anchors to every alternative. `$` would also match before a trailing newline.
            patterns.append(Pattern("\\A(?:\(source))\\z"))
        }
        self.patterns = patterns
    }

    /// Whether the list allows a path, given without leading and trailing slashes.
    public func contains(_ path: String) -> Bool { patterns.contains { $0.isFound(in: path) } }
}
