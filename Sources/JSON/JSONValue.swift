import Encoding
import OrderedCollections

/// The members of a JSON object, in the order in which they were written. Keys are compared by their bytes.
public typealias JSONObject = OrderedDictionary<Name, JSONValue>

/// Any JSON value.
///
/// Numbers are doubles, as in JavaScript: integers are exact up to 2^53. Two objects are equal when they have the same
/// members in the same order, and two strings when they have the same bytes.
public enum JSONValue: Sendable {
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

    /// The strings among the elements, as names; none when the value is no array.
    public var names: [Name] { arrayValue?.compactMap(\.nameValue) ?? [] }

    /// The string as a name, or nil when the value is of another kind.
    public var nameValue: Name? { stringValue.map { Name($0) } }

    /// The members, or nil when the value is of another kind.
    public var objectValue: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    /// Whether the value is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The value; nil for `null`. In its place `nil` alone would be `null` again, which that is a literal of.
    public var orNil: JSONValue? { isNull ? Optional.none : self }

    /// The member with the given key, or nil when the value is no object or has no such member.
    public subscript(key: Name) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The member with the given key, or nil when the value is no object or has no such member.
    public subscript(key: String) -> JSONValue? { self[Name(key)] }
}

extension JSONValue: Hashable {
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): ByteEquality.areSame(left, right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .bool(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): Name.hash(value, into: &hasher)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value)
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON.
    public var description: String { text }
}

extension JSONValue: ExpressibleByNilLiteral {
    /// Makes `null`.
    public init(nilLiteral: ()) { self = .null }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    /// Makes a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue {
    /// Whether a NUL character, which PostgreSQL cannot store, stands anywhere in the value.
    public var containsNUL: Bool {
        switch self {
        case .string(let text): text.utf8.contains(0)
        case .array(let list): list.contains { $0.containsNUL }
        case .object(let object): object.contains { $0.key.utf8.contains(0) || $0.value.containsNUL }
        case .null, .bool, .number: false
        }
    }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// Makes a number.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
}

extension JSONValue: ExpressibleByFloatLiteral {
    /// Makes a number.
    public init(floatLiteral value: Double) { self = .number(value) }
}

extension JSONValue: ExpressibleByStringLiteral {
    /// Makes a string.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
    /// Makes an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Makes an object whose members keep the order of the literal; of a key given twice, the last value wins.
    public init(dictionaryLiteral elements: (Name, JSONValue)...) {
        self = .object(JSONObject(elements, uniquingKeysWith: { _, last in last }))
    }
}
