public import NIOCore

/// A file that a storage holds, open for reading. It stays as it was when it was opened, also when another file takes
/// its name or it is deleted meanwhile.
public protocol StoredFile: Sendable {
    /// Its size in bytes.
    var size: Int64 { get }
    /// When it was last written.
    var modified: FileTime { get }
    /// Whether all of it is in memory.
    var isInMemory: Bool { get }

    /// Gives a part of it, piece by piece.
    ///
    /// - Parameters:
    ///   - range: The bytes wanted.
    ///   - sink: Takes the pieces; the next one comes when it returns.
    /// - Throws: The sink's error; the storage's when it fails, or the file was cut short.
    func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws
}

extension StoredFile {
    /// A tag that changes whenever the content does, in the form of an HTTP `ETag`.
    public var entityTag: String {
        let time = UInt64(bitPattern: Int64(modified.seconds)) &* 1_000_000_000 &+ UInt64(modified.nanoseconds)
        return "\"\(String(size, radix: 16))-\(String(time, radix: 16))\""
    }
}

/// A time, as file systems have it.
public struct FileTime: Sendable, Equatable {
    /// Whole seconds since 1970.
    public var seconds: Int
    /// The rest of that time.
    public var nanoseconds: Int

    /// A time by its parts.
    public init(seconds: Int, nanoseconds: Int = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}
