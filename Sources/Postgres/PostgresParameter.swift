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
}

/// A value for a `$n` of a statement, with its type.
public enum PostgresParameter: Sendable {
    case null(PostgresType)
    case text(String)
    case bool(Bool)
    case int(Int64)
    case double(Double)
    /// Milliseconds since 1970.
    case timestamp(milliseconds: Int64)
    /// JSON text in UTF-8.
    case jsonb([UInt8])
    case textArray([String])
    case nullableTextArray([String?])
    case doubleArray([Double])
    case boolArray([Bool])
    /// Milliseconds since 1970.
    case timestampArray(milliseconds: [Int64])
    case jsonbArray([[UInt8]])
    case point(x: Double, y: Double)
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

/// The parameters of one statement in PostgreSQL's binary form, in one buffer.
struct EncodedStatement: Sendable {
    let sql: String
    let types: [UInt32]
    private(set) var bytes: [UInt8] = []
    /// Where each value begins; -1 for null.
    private(set) var offsets: [Int] = []
    private(set) var lengths: [Int32] = []

    /// 2000-01-01, from which PostgreSQL counts, in milliseconds since 1970.
    static let epoch: Int64 = 946_684_800_000

    init(_ statement: Statement) {
        sql = statement.sql
        types = statement.parameters.map(\.type.rawValue)
        for parameter in statement.parameters {
            if case .null = parameter {
                offsets.append(-1)
                lengths.append(0)
                continue
            }
            let start = bytes.count
            Self.encode(parameter, into: &bytes)
            offsets.append(start)
            lengths.append(Int32(bytes.count - start))
            // A value of no bytes still needs an address of its own, which is what tells it from null.
            if bytes.count == start { bytes.append(0) }
        }
    }

    private static func encode(_ parameter: PostgresParameter, into bytes: inout [UInt8]) {
        switch parameter {
        case .null: break
        case .text(let text): bytes.append(contentsOf: text.utf8)
        case .bool(let flag): bytes.append(flag ? 1 : 0)
        case .int(let integer): append(integer, to: &bytes)
        case .double(let number): append(number.bitPattern, to: &bytes)
        case .timestamp(let milliseconds): append(microseconds(milliseconds), to: &bytes)
        case .jsonb(let json):
            bytes.append(1)
            bytes.append(contentsOf: json)
        case .textArray(let list):
            array(list, .text, into: &bytes) { $1.append(contentsOf: $0.utf8) }
        case .nullableTextArray(let list): nullableTexts(list, into: &bytes)
        case .doubleArray(let list): array(list, .float8, into: &bytes) { append($0.bitPattern, to: &$1) }
        case .boolArray(let list): array(list, .bool, into: &bytes) { $1.append($0 ? 1 : 0) }
        case .timestampArray(let list):
            array(list, .timestamptz, into: &bytes) { append(microseconds($0), to: &$1) }
        case .jsonbArray(let list):
            array(list, .jsonb, into: &bytes) {
                $1.append(1)
                $1.append(contentsOf: $0)
            }
        case .point(let x, let y):
            append(x.bitPattern, to: &bytes)
            append(y.bitPattern, to: &bytes)
        case .polygon(let points):
            append(Int32(points.count), to: &bytes)
            for point in points {
                append(point.x.bitPattern, to: &bytes)
                append(point.y.bitPattern, to: &bytes)
            }
        }
    }

    /// Dates beyond what PostgreSQL can hold become its bounds, so that they still compare as far away.
    private static func microseconds(_ milliseconds: Int64) -> Int64 {
        let (shifted, overflow) = (milliseconds &- epoch).multipliedReportingOverflow(by: 1000)
        return overflow ? (milliseconds < 0 ? .min : .max) : shifted
    }

    private static func append<I: FixedWidthInteger>(_ integer: I, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func header(_ count: Int, _ type: PostgresType, hasNulls: Bool, into bytes: inout [UInt8]) {
        append(Int32(count == 0 ? 0 : 1), to: &bytes)
        append(Int32(hasNulls ? 1 : 0), to: &bytes)
        append(type.rawValue, to: &bytes)
        guard count > 0 else { return }
        append(Int32(count), to: &bytes)
        append(Int32(1), to: &bytes)
    }

    private static func array<E>(
        _ list: [E], _ type: PostgresType, into bytes: inout [UInt8], _ element: (E, inout [UInt8]) -> Void
    ) {
        header(list.count, type, hasNulls: false, into: &bytes)
        for value in list { sized(into: &bytes) { element(value, &$0) } }
    }

    private static func nullableTexts(_ list: [String?], into bytes: inout [UInt8]) {
        header(list.count, .text, hasNulls: list.contains { $0 == nil }, into: &bytes)
        for value in list {
            if let value {
                sized(into: &bytes) { $0.append(contentsOf: value.utf8) }
            } else {
                append(Int32(-1), to: &bytes)
            }
        }
    }

    /// Writes a value with its length before it.
    private static func sized(into bytes: inout [UInt8], _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0])
        write(&bytes)
        let length = UInt32(bytes.count - start - 4)
        for shift in 0..<4 { bytes[start + shift] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * shift)) }
    }
}
