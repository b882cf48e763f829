import OrderedCollections

/// The members of a JSON object, in the order in which they were written.
///
/// Keys are Swift strings, so two keys that are canonically equivalent in Unicode ("é" composed and decomposed) are
/// one key.
public typealias JSONObject = OrderedDictionary<String, JSONValue>

/// Any JSON value.
///
/// Numbers are doubles, as in JavaScript: integers are exact up to 2^53. Two objects are equal when they have the same
/// members in the same order.
public enum JSONValue: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

extension JSONValue {
    /// The boolean, or nil when the value is of another kind.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number, or nil when the value is of another kind.
    public var numberValue: Double? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The string, or nil when the value is of another kind.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements, or nil when the value is of another kind.
    public var arrayValue: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, or nil when the value is of another kind.
    public var objectValue: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// Whether the value is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The member with the given key, or nil when the value is no object or has no such member.
    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON.
    public var description: String { text }
}
