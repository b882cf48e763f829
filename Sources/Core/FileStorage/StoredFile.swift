public import NIOCore

/// A stored file that is open for reading. If it is replaced or deleted, reads return the opened version or fail.
public protocol StoredFile: Sendable {
    /// The size in bytes.
    var size: Int64 { get }
    /// The time of the last write.
    var modified: FileTime { get }
    /// Whether the whole content is in memory.
    var isInMemory: Bool { get }
    /// The maximum number of bytes in memory while the file is read. Values below 64 KiB count as 64 KiB.
    var maxHeldBytes: Int { get }
    /// A value for the HTTP header `ETag` that changes with the content.
    var entityTag: String { get }
    /// The details, or nil if they must be read from the storage.
    var details: FileDetails? { get }

    /// Reads a part of the file in pieces.
    ///
    /// - Parameters:
    ///   - range: The bytes to read.
    ///   - sink: Receives each piece. The next one is read after it returns.
    /// - Throws: The sink's error, or the storage's error if reading fails or the file is shorter than expected.
    func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws
}

extension StoredFile {
    public var maxHeldBytes: Int { 0 }

    public var details: FileDetails? { nil }

    public var entityTag: String { modified.entityTag(size: size) }
}

/// The time of a file's last write.
public struct FileTime: Sendable, Equatable {
    /// Whole seconds since 1970.
    public var seconds: Int
    /// The fraction of the second, in nanoseconds.
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

/// A file whose content is in memory.
public struct FileInMemory: StoredFile {
    public let bytes: [UInt8]
    public let modified: FileTime
    public let entityTag: String

    /// - Parameter entityTag: The entity tag, or nil to derive it from size and time.
    public init(bytes: [UInt8], modified: FileTime, entityTag: String? = nil) {
        self.bytes = bytes
        self.modified = modified
        self.entityTag = entityTag ?? modified.entityTag(size: Int64(bytes.count))
    }

    public var size: Int64 { Int64(bytes.count) }
    public var isInMemory: Bool { true }

    private static let pieceSize = 128 * 1024

    public func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        let end = Int(range.upperBound)
        for start in stride(from: Int(range.lowerBound), to: end, by: Self.pieceSize) {
            try await sink(ByteBuffer(bytes: bytes[start..<min(start + Self.pieceSize, end)]))
        }
    }
}
