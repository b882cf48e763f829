import CLibpq

/// The rows that a statement gave, in PostgreSQL's binary form.
///
/// `@unchecked Sendable`: a `PGresult` is never changed after it was received, and libpq's readers of it are pure.
public final class PostgresResult: @unchecked Sendable {
    private let result: OpaquePointer

    /// Takes over a result and clears it in the end.
    init(_ result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// How many rows there are.
    public var rowCount: Int { Int(PQntuples(result)) }
    /// How many columns there are.
    public var columnCount: Int { Int(PQnfields(result)) }
    /// How many rows an INSERT, UPDATE or DELETE touched.
    public var affectedRows: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// A column's name.
    public func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// The column of a name.
    public func columnIndex(_ name: String) -> Int? {
        (0..<columnCount).first { columnName($0) == name }
    }

    /// The object id of a column's type.
    public func columnType(_ column: Int) -> UInt32 { PQftype(result, Int32(column)) }

    /// Whether a value is NULL.
    @inline(__always)
    public func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) == 1 }

    /// The bytes of a value as the server sent them; none for NULL.
    @inline(__always)
    public func withBytes<R>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        let length = Int(PQgetlength(result, Int32(row), Int32(column)))
        return try body(UnsafeRawBufferPointer(start: PQgetvalue(result, Int32(row), Int32(column)), count: length))
    }

    /// A text; nil for NULL.
    public func string(_ row: Int, _ column: Int) -> String? {
        isNull(row, column) ? nil : withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    /// An integer of two, four or eight bytes; nil for NULL.
    public func int(_ row: Int, _ column: Int) -> Int64? {
        guard !isNull(row, column) else { return nil }
        return withBytes(row, column) { bytes in
            switch bytes.count {
            case 2: Int64(Self.load(bytes, 0, as: Int16.self))
            case 4: Int64(Self.load(bytes, 0, as: Int32.self))
            case 8: Self.load(bytes, 0, as: Int64.self)
            default: nil
            }
        }
    }

    /// A number of any kind that fits; nil for NULL.
    public func double(_ row: Int, _ column: Int) -> Double? {
        guard !isNull(row, column) else { return nil }
        switch PostgresType(rawValue: columnType(column)) {
        case .float8:
            return withBytes(row, column) { Double(bitPattern: Self.load($0, 0, as: UInt64.self)) }
        case .float4:
            return withBytes(row, column) { Double(Float(bitPattern: Self.load($0, 0, as: UInt32.self))) }
        default: return int(row, column).map(Double.init)
        }
    }

    /// A truth value; nil for NULL.
    public func bool(_ row: Int, _ column: Int) -> Bool? {
        isNull(row, column) ? nil : withBytes(row, column) { $0.first == 1 }
    }

    /// A time in milliseconds since 1970, microseconds cut off; nil for NULL.
    public func timestamp(_ row: Int, _ column: Int) -> Int64? {
        guard !isNull(row, column) else { return nil }
        return withBytes(row, column) { bytes in
            guard bytes.count == 8 else { return nil }
            let microseconds = Self.load(bytes, 0, as: Int64.self)
            let milliseconds = microseconds / 1000 - (microseconds % 1000 < 0 ? 1 : 0)
            return milliseconds + EncodedStatement.epoch
        }
    }

    /// The text of a JSON value, without the version byte of jsonb; nil for NULL.
    public func jsonb(_ row: Int, _ column: Int) -> [UInt8]? {
        guard !isNull(row, column) else { return nil }
        let isBinary = columnType(column) == PostgresType.jsonb.rawValue
        return withBytes(row, column) { Array(isBinary ? $0.dropFirst() : $0[...]) }
    }

    /// A list of texts, without its NULLs; nil for NULL.
    public func textArray(_ row: Int, _ column: Int) -> [String]? {
        guard !isNull(row, column) else { return nil }
        return withBytes(row, column) { bytes in
            guard bytes.count >= 20, Self.load(bytes, 0, as: Int32.self) == 1 else { return [] }
            var texts: [String] = []
            var position = 20
            for _ in 0..<Self.load(bytes, 12, as: Int32.self) {
                let length = Int(Self.load(bytes, position, as: Int32.self))
                position += 4
                guard length >= 0 else { continue }
                texts.append(
                    String(
                        decoding: UnsafeRawBufferPointer(rebasing: bytes[position..<position + length]),
                        as: UTF8.self))
                position += length
            }
            return texts
        }
    }

    /// A point; nil for NULL.
    public func point(_ row: Int, _ column: Int) -> (x: Double, y: Double)? {
        guard !isNull(row, column) else { return nil }
        return withBytes(row, column) { bytes in
            bytes.count == 16 ? Self.point(bytes, 0) : nil
        }
    }

    /// The corners of a polygon; nil for NULL.
    public func polygon(_ row: Int, _ column: Int) -> [(x: Double, y: Double)]? {
        guard !isNull(row, column) else { return nil }
        return withBytes(row, column) { bytes in
            let count = Int(Self.load(bytes, 0, as: Int32.self))
            guard bytes.count == 4 + 16 * count else { return nil }
            return (0..<count).map { Self.point(bytes, 4 + 16 * $0) }
        }
    }

    private static func point(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> (x: Double, y: Double) {
        (
            Double(bitPattern: load(bytes, offset, as: UInt64.self)),
            Double(bitPattern: load(bytes, offset + 8, as: UInt64.self))
        )
    }

    @inline(__always)
    private static func load<I: FixedWidthInteger>(_ bytes: UnsafeRawBufferPointer, _ offset: Int, as: I.Type) -> I {
        I(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: I.self))
    }
}
