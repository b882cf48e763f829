extension PostgresResult {
    /// Returns the text of a value, or nil for NULL. Works for every type whose binary format is its text.
    public func string(_ row: Int, _ column: Int) -> String? {
        isNull(row, column) ? nil : withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns a 2-, 4- or 8-byte integer, or nil for NULL and values of other sizes.
    public func int(_ row: Int, _ column: Int) -> Int64? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).integer }
    }

    /// Returns a floating-point number or an integer as `Double`, or nil for NULL and values of other sizes.
    public func double(_ row: Int, _ column: Int) -> Double? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).double(type: columnType(column)) }
    }

    public func bool(_ row: Int, _ column: Int) -> Bool? {
        isNull(row, column) ? nil : withBytes(row, column) { $0.first == 1 }
    }

    /// Returns a time in milliseconds since 1970, rounded down, or nil for NULL and values of other sizes. PostgreSQL's
    /// `infinity` is later than all other times.
    public func timestamp(_ row: Int, _ column: Int) -> Int64? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).milliseconds }
    }

    /// Returns the text of a JSON value without jsonb's version byte, or nil for NULL.
    public func jsonb(_ row: Int, _ column: Int) -> [UInt8]? {
        var text: [UInt8]?
        return withJSON(row, column) { text = Array($0) } ? text : nil
    }

    /// Calls `body` with the text of a JSON value, without jsonb's version byte, and returns true, or returns false for
    /// NULL. The text is valid only during the call.
    public func withJSON(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        withValue(row, column) { bytes in
            let isVersioned = columnType(column) == PostgresType.jsonb.rawValue
            body(isVersioned ? UnsafeRawBufferPointer(rebasing: bytes.dropFirst()) : bytes)
        }
    }

    /// Returns the non-NULL elements of a text array, or nil for NULL.
    public func textArray(_ row: Int, _ column: Int) -> [String]? {
        guard let texts = texts(row, column) else { return nil }
        var list: [String] = []
        texts.visit { list.append(String(decoding: $0, as: UTF8.self)) }
        return list
    }

    /// Returns a view of a text array that copies nothing, or nil for NULL.
    public func texts(_ row: Int, _ column: Int) -> TextList? {
        isNull(row, column) ? nil : TextList(result: self, row: row, column: column)
    }

    public func point(_ row: Int, _ column: Int) -> (x: Double, y: Double)? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).point }
    }

    /// Returns the corners of a polygon, or nil for NULL or malformed bytes.
    public func polygon(_ row: Int, _ column: Int) -> [(x: Double, y: Double)]? {
        guard !isNull(row, column) else { return nil }
        return withBytes(row, column) { bytes in
            guard bytes.count >= 4 else { return nil }
            let value = BinaryValue(bytes)
            let count = Int(value.integer(0, as: Int32.self))
            guard count >= 0, bytes.count == 4 + 16 * count else { return nil }
            return (0..<count).map { value.point(4 + 16 * $0) }
        }
    }
}

/// A view of a text array inside a result. Iterating over it allocates nothing.
public struct TextList {
    let result: PostgresResult
    let row: Int
    let column: Int

    /// Calls `body` with the bytes of each non-NULL text, in order. They are valid only during the call.
    public func visit(_ body: (UnsafeRawBufferPointer) -> Void) {
        _ = contains { text in
            body(text)
            return false
        }
    }

    /// The encoded size of the array in bytes.
    public var size: Int { result.withBytes(row, column) { $0.count } }

    /// The distinct texts in UTF-8.
    public var set: Set<[UInt8]> {
        var set: Set<[UInt8]> = []
        visit { set.insert(Array($0)) }
        return set
    }

    /// Whether the array contains the text, compared byte by byte.
    public func contains(_ text: UnsafeRawBufferPointer) -> Bool {
        contains { $0.count == text.count && $0.elementsEqual(text) }
    }

    private func contains(where isWanted: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        result.withBytes(row, column) { bytes in
            // An empty array has no dimensions. With several dimensions, the elements still follow each other.
            guard bytes.count >= 12 else { return false }
            let dimensions = Int(BinaryValue(bytes).integer(0, as: Int32.self))
            var position = 12 + 8 * max(0, dimensions)
            while position + 4 <= bytes.count {
                let length = Int(BinaryValue(bytes).integer(position, as: Int32.self))
                position += 4
                guard length >= 0 else { continue }
                guard position + length <= bytes.count else { break }
                if isWanted(UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])) { return true }
                position += length
            }
            return false
        }
    }
}

/// A value in PostgreSQL's binary format, valid as long as its bytes. Each public accessor returns nil if the bytes
/// don't fit its type.
public struct BinaryValue {
    let bytes: UnsafeRawBufferPointer

    /// Wraps the bytes of a non-NULL value.
    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The value of a 2-, 4- or 8-byte integer.
    public var integer: Int64? {
        switch bytes.count {
        case 2: Int64(integer(0, as: Int16.self))
        case 4: Int64(integer(0, as: Int32.self))
        case 8: integer(0, as: Int64.self)
        default: nil
        }
    }

    /// Returns a floating-point number or an integer as `Double`.
    ///
    /// - Parameter type: The OID of the value's type.
    public func double(type: UInt32) -> Double? {
        switch PostgresType(rawValue: type) {
        case .float8: bytes.count == 8 ? Double(bitPattern: integer(0, as: UInt64.self)) : nil
        case .float4: bytes.count == 4 ? Double(Float(bitPattern: integer(0, as: UInt32.self))) : nil
        default: integer.map(Double.init)
        }
    }

    /// The time in milliseconds since 1970, rounded down. PostgreSQL's `infinity` is later than all other times.
    public var milliseconds: Int64? {
        guard bytes.count == 8 else { return nil }
        let microseconds = integer(0, as: Int64.self)
        return microseconds / 1000 - (microseconds % 1000 < 0 ? 1 : 0) + ParameterEncoding.epoch
    }

    public var point: (x: Double, y: Double)? { bytes.count == 16 ? point(0) : nil }

    func point(_ offset: Int) -> (x: Double, y: Double) {
        (
            Double(bitPattern: integer(offset, as: UInt64.self)),
            Double(bitPattern: integer(offset + 8, as: UInt64.self))
        )
    }

    @inline(__always)
    func integer<I: FixedWidthInteger>(_ offset: Int, as: I.Type) -> I {
        I(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: I.self))
    }
}
