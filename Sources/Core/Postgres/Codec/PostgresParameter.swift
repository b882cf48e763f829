/// A typed value for a `$n` parameter of a statement or a column of a COPY row.
public enum PostgresParameter: Sendable {
    /// A NULL of the given type.
    case null(PostgresType)
    case text(String)
    case bool(Bool)
    /// `int8`.
    case int(Int64)
    /// `float8`.
    case double(Double)
    /// `timestamptz`, in milliseconds since 1970.
    case timestamp(milliseconds: Int64)
    /// `bytea`.
    case bytes([UInt8])
    /// `jsonb`, as JSON text in UTF-8.
    case jsonb([UInt8])
    case textArray([String])
    /// `float8[]`.
    case doubleArray([Double])
    case boolArray([Bool])
    /// `timestamptz[]`, in milliseconds since 1970.
    case timestampArray(milliseconds: [Int64])
    /// `jsonb[]`, as JSON texts in UTF-8.
    case jsonbArray([[UInt8]])
    /// A longitude and a latitude in degrees.
    case point(x: Double, y: Double)
    /// The corners, as longitude and latitude in degrees.
    case polygon([(x: Double, y: Double)])

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
        case .textArray: .textArray
        case .doubleArray: .float8Array
        case .boolArray: .boolArray
        case .timestampArray: .timestamptzArray
        case .jsonbArray: .jsonbArray
        case .point: .point
        case .polygon: .polygon
        }
    }
}

/// PostgreSQL types by their OID.
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
