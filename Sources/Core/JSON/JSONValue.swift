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
    public init(nilLiteral: ()) { self = .null }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue {
    /// Whether a NUL character, which PostgreSQL cannot store, stands anywhere in the value.
    public var containsNUL: Bool {
        switch self {
        case .string(let text): Self.hasNUL(text)
        case .array(let list): list.contains { $0.containsNUL }
        case .object(let object): object.contains { Self.hasNUL($0.key.text) || $0.value.containsNUL }
        case .null, .bool, .number: false
        }
    }

    /// Whether the value is the same after it was written and read, without NUL characters, and at most so many levels deep.
    ///
    /// No reader gives NaN, the infinities, or the zero below zero.
    public func isAsRead(levels: Int) -> Bool {
        switch self {
        case .null, .bool: true
        case .number(let number): number.isFinite && (number != 0 || number.sign == .plus)
        case .string(let text): !Self.hasNUL(text)
        case .array(let list): levels > 0 && list.allSatisfy { $0.isAsRead(levels: levels - 1) }
        case .object(let object):
            levels > 0 && object.allSatisfy { !Self.hasNUL($0.key.text) && $0.value.isAsRead(levels: levels - 1) }
        }
    }

    fileprivate var roughSize: Int {
        switch self {
        case .null, .bool: 5
        case .number: 8
        case .string(let text): text.utf8.count + 2
        case .array(let list): list.reduce(2) { $0 + 1 + $1.roughSize }
        case .object(let object): object.roughSize
        }
    }

    private static func hasNUL(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard var cursor = bytes.baseAddress else { return false }
            let end = cursor + bytes.count
            while true {
                cursor = PlainRun.end(from: cursor, limit: end).end
                if cursor == end { return false }
                if cursor.pointee == 0 { return true }
                cursor += 1
            }
        }
    }
}

extension OrderedDictionary where Key == Name, Value == JSONValue {
    /// About how many bytes the object has as JSON, found without a look at its texts; it has at most six times as many.
    public var roughSize: Int { reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.roughSize } }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
}

extension JSONValue: ExpressibleByFloatLiteral {
    public init(floatLiteral value: Double) { self = .number(value) }
}

extension JSONValue: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// Makes an object whose members keep the order of the literal; of a key given twice, the last value wins.
    public init(dictionaryLiteral elements: (Name, JSONValue)...) {
        self = .object(JSONObject(elements, uniquingKeysWith: { _, last in last }))
    }
}
