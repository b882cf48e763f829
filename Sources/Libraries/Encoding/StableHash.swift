/// A hash that is the same in every process and version, unlike Swift's: 64-bit FNV-1a.
public enum StableHash {
    /// Returns the hash of a text's UTF-8 bytes.
    public static func of(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
