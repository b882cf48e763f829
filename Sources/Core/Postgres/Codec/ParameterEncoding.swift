/// Encodes values in PostgreSQL's binary format: big endian, with a length before each array element.
enum ParameterEncoding {
    /// PostgreSQL's epoch, 2000-01-01, in milliseconds since 1970.
    static let epoch: Int64 = 946_684_800_000

    /// Appends a value, or nothing for NULL.
    static func append(_ parameter: PostgresParameter, to bytes: inout [UInt8]) {
        switch parameter {
        case .null: break
        case .text(let text): bytes.append(contentsOf: text.utf8)
        case .bool(let flag): bytes.append(flag ? 1 : 0)
        case .int(let integer): append(integer, to: &bytes)
        case .double(let number): append(number.bitPattern, to: &bytes)
        case .timestamp(let milliseconds): append(microseconds(milliseconds), to: &bytes)
        case .bytes(let value): bytes += value
        case .jsonb(let json): append(json: json, to: &bytes)
        case .textArray(let list): append(list, of: .text, to: &bytes) { $1.append(contentsOf: $0.utf8) }
        case .doubleArray(let list): append(list, of: .float8, to: &bytes) { append($0.bitPattern, to: &$1) }
        case .boolArray(let list): append(list, of: .bool, to: &bytes) { $1.append($0 ? 1 : 0) }
        case .timestampArray(let list):
            append(list, of: .timestamptz, to: &bytes) { append(microseconds($0), to: &$1) }
        case .jsonbArray(let list): append(list, of: .jsonb, to: &bytes) { append(json: $0, to: &$1) }
        case .point(let x, let y):
            append(x.bitPattern, to: &bytes)
            append(y.bitPattern, to: &bytes)
        case .polygon(let corners):
            append(Int32(clamping: corners.count), to: &bytes)
            for corner in corners {
                append(corner.x.bitPattern, to: &bytes)
                append(corner.y.bitPattern, to: &bytes)
            }
        }
    }

    /// Converts milliseconds since 1970 to PostgreSQL's microseconds since 2000.
    ///
    /// Overflow maps to values that the server rejects as out of range (22008), because the extremes mean infinity.
    private static func microseconds(_ milliseconds: Int64) -> Int64 {
        let (shifted, underflow) = milliseconds.subtractingReportingOverflow(epoch)
        let (scaled, overflow) = shifted.multipliedReportingOverflow(by: 1000)
        return underflow || overflow ? (milliseconds < 0 ? .min + 1 : .max - 1) : scaled
    }

    private static func append(json: [UInt8], to bytes: inout [UInt8]) {
        // The version byte of jsonb's binary format. The JSON text follows.
        bytes.append(1)
        bytes.append(contentsOf: json)
    }

    static func append<I: FixedWidthInteger>(_ integer: I, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func append<E>(
        _ list: [E], of type: PostgresType, to bytes: inout [UInt8], _ element: (E, inout [UInt8]) -> Void
    ) {
        // The header: dimensions, NULL flag, element type and, if there are elements, their count and lower bound.
        append(Int32(list.isEmpty ? 0 : 1), to: &bytes)
        append(Int32(0), to: &bytes)
        append(type.rawValue, to: &bytes)
        guard !list.isEmpty else { return }
        append(Int32(clamping: list.count), to: &bytes)
        append(Int32(1), to: &bytes)
        for value in list { appendSized(to: &bytes) { element(value, &$0) } }
    }

    /// Appends a value, preceded by its length in bytes.
    static func appendSized(to bytes: inout [UInt8], _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        append(UInt32(0), to: &bytes)
        write(&bytes)
        let length = UInt32(clamping: bytes.count - start - 4)
        for shift in 0..<4 { bytes[start + shift] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * shift)) }
    }
}
