/// Reads integers out of bytes, the lowest byte first. What lies outside of the bytes is nil.
struct LittleEndian {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func uint16(_ offset: Int) -> Int? { integer(offset, 2).map { Int($0) } }

    func uint32(_ offset: Int) -> UInt32? { integer(offset, 4).map { UInt32($0) } }

    /// 64 bits that fit into 63.
    func int64(_ offset: Int) -> Int64? { integer(offset, 8).flatMap { Int64(exactly: $0) } }

    private func integer(_ offset: Int, _ count: Int) -> UInt64? {
        guard offset >= 0, offset <= bytes.count - count else { return nil }
        return (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
    }
}
