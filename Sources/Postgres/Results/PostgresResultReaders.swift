extension PostgresResult {
    /// A text, of any type whose binary form is its text; nil for NULL.
    public func string(_ row: Int, _ column: Int) -> String? {
        isNull(row, column) ? nil : withBytes(row, column) { String(decoding: $0, as: UTF8.self) }
    }

    /// An integer of two, four or eight bytes; nil for NULL.
    public func int(_ row: Int, _ column: Int) -> Int64? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).integer }
    }

    /// A floating-point number or an integer; nil for NULL.
    public func double(_ row: Int, _ column: Int) -> Double? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).double(type: columnType(column)) }
    }

    /// A truth value; nil for NULL.
    public func bool(_ row: Int, _ column: Int) -> Bool? {
        isNull(row, column) ? nil : withBytes(row, column) { $0.first == 1 }
    }

    /// A time in milliseconds since 1970, rounded down; nil for NULL. Infinity is a time beyond all others.
    public func timestamp(_ row: Int, _ column: Int) -> Int64? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).milliseconds }
    }

    /// The text of a JSON value, without the version byte of jsonb; nil for NULL.
    public func jsonb(_ row: Int, _ column: Int) -> [UInt8]? {
        var text: [UInt8]?
        return withJSON(row, column) { text = Array($0) } ? text : nil
    }

    /// Gives `body` the text of a JSON value, without the version byte of jsonb, if it is not NULL. It is valid only during
    /// the call.
    ///
    /// - Returns: Whether there was a value.
    public func withJSON(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        withValue(row, column) { bytes in
            let isVersioned = columnType(column) == PostgresType.jsonb.rawValue
            body(isVersioned ? UnsafeRawBufferPointer(rebasing: bytes.dropFirst()) : bytes)
        }
    }

    /// A list of texts, without its NULLs; nil for NULL.
    public func textArray(_ row: Int, _ column: Int) -> [String]? {
        guard let texts = texts(row, column) else { return nil }
        var list: [String] = []
        texts.visit { list.append(String(decoding: $0, as: UTF8.self)) }
        return list
    }

    /// A list of texts as it lies in the result; nil for NULL.
    public func texts(_ row: Int, _ column: Int) -> TextList? {
        isNull(row, column) ? nil : TextList(result: self, row: row, column: column)
    }

    /// A point; nil for NULL.
    public func point(_ row: Int, _ column: Int) -> (x: Double, y: Double)? {
        isNull(row, column) ? nil : withBytes(row, column) { BinaryValue($0).point }
    }

    /// The corners of a polygon; nil for NULL.
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
