/// The checksum of 64 bits that archives of mongodump have (ECMA-182, bits reversed).
struct CRC64 {
    private static let table: [UInt64] = (0..<256).map { byte in
        (0..<8).reduce(UInt64(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xC96C_5795_D787_0F42 : value >> 1 }
    }

    private var state = UInt64.max

    /// The checksum of the bytes so far.
    var value: UInt64 { ~state }

    /// Goes on over bytes.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        var state = self.state
        for byte in bytes { state = Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8 }
        self.state = state
    }
}
