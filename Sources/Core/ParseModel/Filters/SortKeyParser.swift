import Encoding
import JSON

extension SortKey {
    /// Parses the `order` of a request.
    ///
    /// - Throws: 102 for too many keys, or for keys with too many steps.
    public static func limited(_ value: JSONValue?) throws(ParseError) -> [SortKey] {
        let keys = list(value)
        try HardLimits.check(keys.count, atMost: HardLimits.sortKeys, "sort keys")
        for key in keys { try HardLimits.check(key.path.steps.count, atMost: HardLimits.keyDepth, "dots in a key") }
        return keys
    }

    /// Parses an `order`: a comma-separated list or a JSON list of names, with a leading `-` for descending order.
    public static func list(_ value: JSONValue?) -> [SortKey] {
        (value?.parameterNames ?? []).compactMap { name in
            let descending = name.dropping(prefix: "-")
            let field = descending ?? name.dropping(prefix: "+") ?? name
            return field.isEmpty ? nil : SortKey(FieldPath(field), isDescending: descending != nil)
        }
    }
}

extension JSONValue {
    /// The names in a parameter that is a comma-separated list or a JSON list, without surrounding whitespace.
    public var parameterNames: [String] {
        switch self {
        case .string(let text):
            text.parts(between: ",").map { $0.trimmingBlanks(newlines: true) }.filter { !$0.isEmpty }
        case .array(let list):
            list.compactMap(\.stringValue).flatMap { JSONValue.string($0).parameterNames }
        default: []
        }
    }

    /// The parameter as a number rounded toward zero, or nil if it isn't a number. Booleans (0 or 1) and numeric
    /// strings, which the iOS and Android SDKs send, count as numbers.
    public var parameterInteger: Int? {
        switch self {
        case .number(let number): Int(exactly: number.rounded(.towardZero))
        case .string(let text):
            Double(text.trimmingBlanks(newlines: true)).flatMap { Int(exactly: $0.rounded(.towardZero)) }
        case .bool(let flag): flag ? 1 : 0
        default: nil
        }
    }
}
