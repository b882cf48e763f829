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
    /// The bytes of it that are in memory at most while it is given; fewer than 64 KiB count as these.
    var mostHeld: Int { get }
    /// A tag that changes whenever the content does, in the form of an HTTP `ETag`.
    var entityTag: String { get }
    /// What the client said about it; nil where the storage must be asked.
    var details: FileDetails? { get }

    /// Gives a part of it, piece by piece.
    ///
    /// - Parameters:
    ///   - range: The bytes wanted.
    ///   - sink: Takes the pieces; the next one comes when it returns.
    /// - Throws: The sink's error; the storage's when it fails, or the file was cut short.
    func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws
}

extension StoredFile {
    /// One piece, which is counted when it is sent.
    public var mostHeld: Int { 0 }

    /// Most are asked.
    public var details: FileDetails? { nil }

    /// The size and the time.
    public var entityTag: String { modified.entityTag(size: size) }
}

/// A file system timestamp.
public struct FileTime: Sendable, Equatable {
    /// Whole seconds since 1970.
    public var seconds: Int
    /// The rest of that time.
    public var nanoseconds: Int

    public init(seconds: Int, nanoseconds: Int = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    fileprivate func entityTag(size: Int64) -> String {
        let time = UInt64(bitPattern: Int64(seconds)) &* 1_000_000_000 &+ UInt64(nanoseconds)
        return "\"\(String(size, radix: 16))-\(String(time, radix: 16))\""
    }
}

/// A file all of whose bytes are in memory.
public struct FileInMemory: StoredFile {
    /// Its bytes.
    public let bytes: [UInt8]
    /// When it was last written.
    public let modified: FileTime
    /// A tag that changes whenever the content does.
    public let entityTag: String

    /// - Parameter entityTag: Nil for the size and the time.
    public init(bytes: [UInt8], modified: FileTime, entityTag: String? = nil) {
        self.bytes = bytes
        self.modified = modified
        self.entityTag = entityTag ?? modified.entityTag(size: Int64(bytes.count))
    }

    /// Its size in bytes.
    public var size: Int64 { Int64(bytes.count) }
    public var isInMemory: Bool { true }

    private static let pieceSize = 128 * 1024

    /// Gives a part of it, piece by piece.
    public func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        let end = Int(range.upperBound)
        for start in stride(from: Int(range.lowerBound), to: end, by: Self.pieceSize) {
            try await sink(ByteBuffer(bytes: bytes[start..<min(start + Self.pieceSize, end)]))
        }
    }
}
