import Encoding
import OrderedCollections

/// The members of a JSON object in their written order. Keys are compared byte by byte.
public typealias JSONObject = OrderedDictionary<Name, JSONValue>

/// A JSON value.
///
/// Numbers are doubles, as in JavaScript, so integers are exact up to 2^53. Objects are equal if they have the same
/// members in the same order, and strings are equal if they have the same bytes.
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue {
    /// The boolean, or nil if the value has another type.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The number, or nil if the value has another type.
    public var numberValue: Double? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The string, or nil if the value has another type.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The elements, or nil if the value has another type.
    public var arrayValue: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The elements that are strings, as names. Empty if the value isn't an array.
    public var names: [Name] { arrayValue?.compactMap(\.nameValue) ?? [] }

    /// The string as a name, or nil if the value has another type.
    public var nameValue: Name? { stringValue.map { Name($0) } }

    /// The members, or nil if the value has another type.
    public var objectValue: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }

    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The value, or nil if it is `null`. Written as `Optional.none`, because a `nil` literal would become a JSON
    /// `null`.
    public var orNil: JSONValue? { isNull ? Optional.none : self }

    /// The member for a key, or nil if the value isn't an object or lacks the key.
    public subscript(key: Name) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The member for a key, or nil if the value isn't an object or lacks the key.
    public subscript(key: String) -> JSONValue? { self[Name(key)] }
}

extension JSONValue: Hashable, CustomStringConvertible {
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

    /// The value as compact JSON.
    public var description: String { text }
}

extension JSONValue {
    /// Whether the value contains a NUL character, which PostgreSQL can't store.
    public var containsNUL: Bool {
        switch self {
        case .string(let text): Self.hasNUL(text)
        case .array(let list): list.contains { $0.containsNUL }
        case .object(let object): object.contains { Self.hasNUL($0.key.text) || $0.value.containsNUL }
        case .null, .bool, .number: false
        }
    }

    /// Whether the value survives a round trip through JSON text, contains no NUL character, and is at most `levels`
    /// deep.
    ///
    /// NaN, infinities and negative zero don't survive.
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
    /// The approximate size as JSON in bytes, without scanning strings for escapes. The real size is at most six times
    /// as large.
    public var roughSize: Int { reduce(2) { $0 + $1.key.utf8.count + 4 + $1.value.roughSize } }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (Name, JSONValue)...) {
        self = .object(JSONObject(elements, uniquingKeysWith: { _, last in last }))
    }
}
