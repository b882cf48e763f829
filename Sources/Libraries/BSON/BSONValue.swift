import Encoding
public import JSON

/// A BSON value of any type.
public indirect enum BSONValue: Sendable, Hashable {
    case double(Double)
    case string(String)
    case document(BSONDocument)
    case array([BSONValue])
    case binary(subtype: UInt8, [UInt8])
    case undefined
    case objectID(BSONObjectID)
    case bool(Bool)
    /// A date in milliseconds since 1970.
    case date(Int64)
    case null
    case regularExpression(pattern: String, options: String)
    case dbPointer(collection: String, BSONObjectID)
    case code(String)
    case symbol(String)
    case codeWithScope(String, BSONDocument)
    case int32(Int32)
    case timestamp(UInt64)
    case int64(Int64)
    case decimal128(BSONDecimal)
    case minKey
    case maxKey
    /// A string that isn't valid UTF-8.
    case malformedText([UInt8])
}

/// A document with ordered members. A key can occur more than once.
public struct BSONDocument: Sendable, Hashable {
    public struct Member: Sendable, Hashable {
        public var key: Name
        public var value: BSONValue

        @inlinable
        public init(_ key: Name, _ value: BSONValue) {
            self.key = key
            self.value = value
        }
    }

    public var members: [Member]

    public init(_ members: [Member] = []) { self.members = members }

    /// The first value of a key, or nil if the document lacks the key.
    public subscript(key: Name) -> BSONValue? { members.first { $0.key == key }?.value }
}

extension BSONValue {
    /// The string, or nil if the value has another type.
    public var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The document, or nil if the value has another type.
    public var documentValue: BSONDocument? { if case .document(let document) = self { document } else { nil } }

    /// The elements, or nil if the value has another type.
    public var arrayValue: [BSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The bytes, or nil if the value has another type.
    public var binaryValue: [UInt8]? { if case .binary(_, let bytes) = self { bytes } else { nil } }

    /// The number, rounded to a double, or nil if the value isn't a number.
    public var numberValue: Double? {
        switch self {
        case .double(let number): number
        case .int32(let number): Double(number)
        case .int64(let number): Double(number)
        case .decimal128(let number): number.double
        default: nil
        }
    }

    /// The number as an integer, or nil if the value is a `decimal128` or isn't a whole 64-bit number.
    public var integerValue: Int64? {
        switch self {
        case .int32(let number): Int64(number)
        case .int64(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// The type's name for messages, such as `objectId`. All numeric types are `number`.
    public var typeName: String {
        switch self {
        case .double, .int32, .int64, .decimal128: "number"
        case .string: "string"
        case .document: "object"
        case .array: "array"
        case .binary: "binData"
        case .undefined: "undefined"
        case .objectID: "objectId"
        case .bool: "bool"
        case .date: "date"
        case .null: "null"
        case .regularExpression: "regex"
        case .dbPointer: "dbPointer"
        case .code, .codeWithScope: "javascript"
        case .symbol: "symbol"
        case .timestamp: "timestamp"
        case .minKey: "minKey"
        case .maxKey: "maxKey"
        case .malformedText: "string that is not UTF-8"
        }
    }
}

/// A MongoDB object id of twelve bytes.
public struct BSONObjectID: Sendable, Hashable {
    public let bytes: [UInt8]

    /// Creates an id, or returns nil unless there are exactly twelve bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 12 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Parses 24 hexadecimal digits. Returns nil for any other text.
    public init?(hexadecimal text: String) {
        guard let bytes = [UInt8](hexadecimal: text) else { return nil }
        self.init(bytes)
    }

    /// The id as 24 lower-case hexadecimal digits.
    public var hexadecimal: String { bytes.hexadecimal }
}
