/// Rows in the binary form that COPY takes, put together in memory until they are sent.
public struct CopyBuffer: Sendable {
    /// The rows so far.
    public private(set) var bytes: [UInt8] = []

    /// Makes an empty buffer.
    public init() {}

    /// How many bytes the rows take.
    public var count: Int { bytes.count }

    /// Begins: what stands before the first row.
    public mutating func begin() {
        bytes.append(contentsOf: [0x50, 0x47, 0x43, 0x4F, 0x50, 0x59, 0x0A, 0xFF, 0x0D, 0x0A, 0x00])
        // No flags, and no extension of the header.
        bytes.append(contentsOf: [0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// Adds a row: a value for each column, in the columns' order.
    public mutating func append(_ values: [PostgresParameter]) {
        ParameterEncoding.append(Int16(clamping: values.count), to: &bytes)
        for value in values {
            if case .null = value {
                ParameterEncoding.append(Int32(-1), to: &bytes)
            } else {
                ParameterEncoding.appendSized(to: &bytes) { ParameterEncoding.append(value, to: &$0) }
            }
        }
    }

    /// Ends: what stands behind the last row.
    public mutating func end() { bytes.append(contentsOf: [0xFF, 0xFF]) }

    /// Forgets the rows, and keeps the memory for others.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}
