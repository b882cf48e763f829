import JSON

/// What written data may not contain.
public struct KeywordRules: Sendable {
    private let rules: [KeywordRule]
    /// The fewest bytes of a key that any of the rules can be about. Most keys have fewer.
    private let shortestKey: Int

    init(_ forms: [JSONValue]) {
        rules = forms.map(KeywordRule.init(json:))
        shortestKey = rules.map(\.shortestKey).min() ?? .max
    }

    static let defaults = KeywordRules([
        ["key": "_bsontype", "value": "Code"], ["key": "constructor"], ["key": "__proto__"],
    ])

    /// Whether nothing is denied.
    public var isEmpty: Bool { rules.isEmpty }

    /// The first rule that a member of an object breaks, in the form in which it was given; nil when it breaks none.
    public func broken(byKey key: String, value: JSONValue) -> JSONValue? {
        guard key.utf8.count >= shortestKey else { return nil }
        return rules.first { $0.matches(key: key, value: value) }?.json
    }
}

/// A key, a value or both that written data may not contain. Texts are regular expressions.
private final class KeywordRule: Sendable {
    /// The rule as it was given, for the error's text.
    let json: JSONValue
    private let key: Part?
    private let value: Part?

    private enum Part: Sendable {
        case pattern(Pattern)
        case value(JSONValue)

        init(_ json: JSONValue) {
            self = if let source = json.stringValue { .pattern(Pattern(source)) } else { .value(json) }
        }

        func fits(_ given: JSONValue) -> Bool {
            switch self {
            case .pattern: given.stringValue.map(fits) ?? false
            case .value(let value): given == value
            }
        }

        func fits(_ given: String) -> Bool {
            switch self {
            case .pattern(let pattern): pattern.isFound(in: given)
            case .value(let value): value == .string(given)
            }
        }
    }

    init(json: JSONValue) {
        self.json = json
        key = json["key"].map(Part.init)
        value = json["value"].map(Part.init)
    }

    /// The fewest bytes of a key that the rule can be about.
    var shortestKey: Int {
        switch key {
        case .pattern(let pattern): pattern.shortestText
        case .value, nil: 0
        }
    }

    /// Whether a member of an object breaks the rule.
    func matches(key: String, value: JSONValue) -> Bool {
        if self.key == nil && self.value == nil { return false }
        return (self.key?.fits(key) ?? true) && (self.value?.fits(value) ?? true)
    }
}
