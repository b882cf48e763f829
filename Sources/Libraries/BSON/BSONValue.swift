import Encoding
public import JSON

/// A value of MongoDB's, of any type that BSON knows.
public indirect enum BSONValue: Sendable, Hashable {
    case double(Double)
    case string(String)
    case document(BSONDocument)
    case array([BSONValue])
    case binary(subtype: UInt8, [UInt8])
    case undefined
    case objectID(BSONObjectID)
    case bool(Bool)
    /// Milliseconds since 1970.
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
    /// What stands in the place of a text and is not UTF-8.
    case malformedText([UInt8])
}

/// A document: its members in their order. A key can stand more than once.
public struct BSONDocument: Sendable, Hashable {
    /// One member.
    public struct Member: Sendable, Hashable {
        /// The key.
        public var key: Name
        /// The value.
        public var value: BSONValue

        /// Makes a member.
        @inlinable
        public init(_ key: Name, _ value: BSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// The members in their order.
    public var members: [Member]

    /// Makes a document of its members.
    public init(_ members: [Member] = []) { self.members = members }

    /// The first value of a key; nil when the document has no such key.
    public subscript(key: Name) -> BSONValue? { members.first { $0.key == key }?.value }
}

extension BSONValue {
    /// The text, or nil when the value is of another type.
    public var stringValue: String? { if case .string(let text) = self { text } else { nil } }

    /// The members, or nil when the value is of another type.
    public var documentValue: BSONDocument? { if case .document(let document) = self { document } else { nil } }

    /// The elements, or nil when the value is of another type.
    public var arrayValue: [BSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The bytes, or nil when the value is of another type.
    public var binaryValue: [UInt8]? { if case .binary(_, let bytes) = self { bytes } else { nil } }

    /// The number, rounded to a double; nil when the value is no number.
    public var numberValue: Double? {
        switch self {
        case .double(let number): number
        case .int32(let number): Double(number)
        case .int64(let number): Double(number)
        case .decimal128(let number): number.double
        default: nil
        }
    }

    /// The number as an integer; nil when the value is none, or has digits behind the point.
    public var integerValue: Int64? {
        switch self {
        case .int32(let number): Int64(number)
        case .int64(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// What the type is called in MongoDB's words.
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

/// The twelve bytes that MongoDB makes ids of.
public struct BSONObjectID: Sendable, Hashable {
    /// The twelve bytes.
    public let bytes: [UInt8]

    /// Takes twelve bytes; nil for any other number of them.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 12 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads 24 hexadecimal digits; nil for anything else.
    public init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 24 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: 24, by: 2) {
            guard let high = digits[place].hexadecimalDigit, let low = digits[place + 1].hexadecimalDigit else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// The bytes as 24 hexadecimal digits, small letters among them.
    public var hexadecimal: String { bytes.hexadecimal }
}
