/// A value for a `$n` of a statement, with its type.
public enum PostgresParameter: Sendable {
    /// NULL, as a value of a type.
    case null(PostgresType)
    /// `text`.
    case text(String)
    /// `bool`.
    case bool(Bool)
    /// `int8`.
    case int(Int64)
    /// `float8`.
    case double(Double)
    /// `timestamptz`, in milliseconds since 1970.
    case timestamp(milliseconds: Int64)
    /// `bytea`.
    case bytes([UInt8])
    /// `jsonb`, from JSON text in UTF-8.
    case jsonb([UInt8])
    /// `text[]`.
    case textArray([String])
    /// `text[]`, with nil for NULL.
    case nullableTextArray([String?])
    /// `float8[]`.
    case doubleArray([Double])
    /// `bool[]`.
    case boolArray([Bool])
    /// `timestamptz[]`, in milliseconds since 1970.
    case timestampArray(milliseconds: [Int64])
    /// `jsonb[]`, from JSON texts in UTF-8.
    case jsonbArray([[UInt8]])
    /// `point`.
    case point(x: Double, y: Double)
    /// `polygon`, from its corners.
    case polygon([(x: Double, y: Double)])

    /// The type as which the value goes out.
    public var type: PostgresType {
        switch self {
        case .null(let type): type
        case .text: .text
        case .bool: .bool
        case .int: .int8
        case .double: .float8
        case .timestamp: .timestamptz
        case .bytes: .bytea
        case .jsonb: .jsonb
        case .textArray, .nullableTextArray: .textArray
        case .doubleArray: .float8Array
        case .boolArray: .boolArray
        case .timestampArray: .timestamptzArray
        case .jsonbArray: .jsonbArray
        case .point: .point
        case .polygon: .polygon
        }
    }
}

/// Types by their object ids in PostgreSQL's catalogue.
public enum PostgresType: UInt32, Sendable {
    case bool = 16
    case bytea = 17
    case name = 19
    case int8 = 20
    case int2 = 21
    case int4 = 23
    case text = 25
    case json = 114
    case point = 600
    case polygon = 604
    case float4 = 700
    case float8 = 701
    case boolArray = 1000
    case textArray = 1009
    case float8Array = 1022
    case varchar = 1043
    case timestamptz = 1184
    case timestamptzArray = 1185
    case jsonb = 3802
    case jsonbArray = 3807

    var isArray: Bool {
        switch self {
        case .boolArray, .textArray, .float8Array, .timestamptzArray, .jsonbArray: true
        default: false
        }
    }
}
