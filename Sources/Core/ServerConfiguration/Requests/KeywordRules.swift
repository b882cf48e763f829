import JSON

/// Rules for keys and values that written data must not contain.
public struct KeywordRules: Sendable {
    private let rules: [KeywordRule]
    /// A lower bound on the length, in bytes, of keys that any rule can match. Most keys are shorter and need no check.
    private let shortestKey: Int

    init(_ forms: [JSONValue]) {
        rules = forms.map(KeywordRule.init(json:))
        shortestKey = rules.map(\.shortestKey).min() ?? .max
    }

    static let defaults = KeywordRules([
        ["key": "_bsontype", "value": "Code"], ["key": "constructor"], ["key": "__proto__"],
    ])

    public var isEmpty: Bool { rules.isEmpty }

    /// Returns the first rule that a member of an object breaks, in its original form, or nil if it breaks none.
    public func broken(byKey key: String, value: JSONValue) -> JSONValue? {
        guard key.utf8.count >= shortestKey else { return nil }
        return rules.first { $0.matches(key: key, value: value) }?.json
    }
}

/// A key, a value or both that written data must not contain. Texts are regular expressions.
private final class KeywordRule: Sendable {
    /// The rule in its original form, for the error's text.
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
            case .pattern(let pattern): given.stringValue.map { pattern.isFound(in: $0) } ?? false
            case .value(let value): given == value
            }
        }
    }

    init(json: JSONValue) {
        self.json = json
        key = json["key"].map(Part.init)
        value = json["value"].map(Part.init)
    }

    /// A lower bound on the length, in bytes, of keys that match.
    var shortestKey: Int {
        switch key {
        case .pattern(let pattern): pattern.shortestText
        case .value, nil: 0
        }
    }

    func matches(key: String, value: JSONValue) -> Bool {
        if self.key == nil && self.value == nil { return false }
        return (self.key?.fits(.string(key)) ?? true) && (self.value?.fits(value) ?? true)
    }
}
