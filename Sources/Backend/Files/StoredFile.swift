/// A file that the store holds.
public struct StoredFile: Sendable, Equatable {
    /// The name under which it was stored.
    public var name: String
    /// Its size in bytes.
    public var size: Int64
    /// When it was last written, in whole seconds since 1970.
    public var modifiedSeconds: Int
    /// The rest of that time.
    public var modifiedNanoseconds: Int

    /// Describes a file.
    init(name: String, size: Int64, modified: (seconds: Int, nanoseconds: Int)) {
        self.name = name
        self.size = size
        modifiedSeconds = modified.seconds
        modifiedNanoseconds = modified.nanoseconds
    }

    /// A tag that changes whenever the content does, in the form of an HTTP `ETag`.
    public var entityTag: String {
        let time = UInt64(bitPattern: Int64(modifiedSeconds)) &* 1_000_000_000 &+ UInt64(modifiedNanoseconds)
        return "\"\(String(size, radix: 16))-\(String(time, radix: 16))\""
    }
}
