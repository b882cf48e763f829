public import NIOCore

/// A file all of whose bytes are in memory.
public struct FileInMemory: StoredFile {
    /// Its bytes.
    public let bytes: [UInt8]
    /// When it was last written.
    public let modified: FileTime

    /// Makes a file.
    public init(bytes: [UInt8], modified: FileTime) {
        self.bytes = bytes
        self.modified = modified
    }

    /// Its size in bytes.
    public var size: Int64 { Int64(bytes.count) }
    /// It is.
    public var isInMemory: Bool { true }

    /// The bytes that are given at once.
    private static let pieceSize = 128 * 1024

    /// Gives a part of it, piece by piece.
    public func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        let end = Int(range.upperBound)
        for start in stride(from: Int(range.lowerBound), to: end, by: Self.pieceSize) {
            try await sink(ByteBuffer(bytes: bytes[start..<min(start + Self.pieceSize, end)]))
        }
    }
}
