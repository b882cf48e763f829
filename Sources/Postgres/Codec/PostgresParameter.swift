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
