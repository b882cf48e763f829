/// A hash that is the same in every process and version, which Swift's own are not: FNV-1a of 64 bits.
public enum StableHash {
    /// The hash of the bytes of a text.
    public static func of(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
