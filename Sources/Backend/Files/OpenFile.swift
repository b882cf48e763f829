import CFiles
public import NIOCore
import NIOPosix

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file of the store that is open for reading.
///
/// It stays as it was when it was opened, also when another file takes its name or it is deleted meanwhile.
public final class OpenFile: Sendable {
    /// How large it is on the disk, in bytes.
    let length: Int64
    /// When it was last written, since 1970.
    let modified: (seconds: Int, nanoseconds: Int)
    private let descriptor: Int32
    /// Whether the system found it without waiting.
    private let isKnown: Bool

    /// How many bytes are read at a time.
    private static let pieceLength: Int64 = 128 * 1024
    /// How many pieces are read one after the other without waiting: a client that takes them as fast as they come shall
    /// not keep the event loop.
    private static let piecesInARow = 8

    /// Takes an open descriptor; nil when it is not a file's.
    private init?(descriptor: Int32, isKnown: Bool) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        #if canImport(Darwin)
            let modified = status.st_mtimespec
        #else
            let modified = status.st_mtim
        #endif
        self.descriptor = descriptor
        self.isKnown = isKnown
        length = Int64(status.st_size)
        self.modified = (Int(modified.tv_sec), Int(modified.tv_nsec))
    }

    deinit {
        var status = stat()
        if isKnown, fstat(descriptor, &status) == 0, status.st_nlink > 0 {
            close(descriptor)
        } else {
            // Closing the last of a deleted file frees its blocks, which takes time; so may asking another machine.
            NIOThreadPool.singleton.submit { [descriptor] _ in close(descriptor) }
        }
    }

    /// Opens a file: at once when the system has it in memory where it lies, else on a thread that may wait for the disk.
    ///
    /// - Returns: nil when there is none, or what is there is not a file.
    /// - Throws: `IOError` when the system refuses.
    static func open(_ path: String) async throws -> OpenFile? {
        let known = open_file(path, 1)
        if known >= 0 { return OpenFile(descriptor: known, isKnown: true) }
        return try await NIOThreadPool.singleton.runIfActive {
            let descriptor = open_file(path, 0)
            guard descriptor >= 0 else {
                if errno == ENOENT || errno == ENOTDIR { return nil }
                throw IOError(errnoCode: errno, reason: "open")
            }
            return OpenFile(descriptor: descriptor, isKnown: false)
        }
    }

    /// Reads a part of it as it lies on the disk, piece by piece.
    ///
    /// What the system has in memory is read at once; a thread waits for the rest.
    ///
    /// - Parameters:
    ///   - range: The bytes wanted.
    ///   - sink: Takes the pieces; the next one is read when it returns.
    /// - Throws: The sink's error; `IOError` when the disk fails, or somebody cut the file short.
    public func read(_ range: Range<Int64>, sink: (ByteBuffer) async throws -> Void) async throws {
        var offset = range.lowerBound
        var atOnce = 0
        while offset < range.upperBound {
            let count = Int(min(Self.pieceLength, range.upperBound - offset))
            let piece: ByteBuffer
            if atOnce < Self.piecesInARow, let cached = try read(count, at: offset, onlyCached: true) {
                atOnce += 1
                piece = cached
            } else {
                atOnce = 0
                let start = offset
                piece = try await NIOThreadPool.singleton.runIfActive {
                    try self.read(count, at: start, onlyCached: false) ?? ByteBuffer()
                }
            }
            guard piece.readableBytes > 0 else { throw IOError(errnoCode: EIO, reason: "the file became shorter") }
            offset += Int64(piece.readableBytes)
            try await sink(piece)
        }
    }

    /// nil when the disk would have to be waited for, and should not.
    ///
    /// Unsafe memory, since the system writes to an address: the buffer's own, without a copy.
    private func read(_ count: Int, at offset: Int64, onlyCached: Bool) throws -> ByteBuffer? {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        var failure: Int32 = 0
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            let read = read_file_part(descriptor, bytes.baseAddress, count, off_t(offset), onlyCached ? 1 : 0)
            if read < 0 { failure = errno }
            return max(0, read)
        }
        if failure == 0 { return buffer }
        if onlyCached { return nil }
        throw IOError(errnoCode: failure, reason: "read")
    }
}
