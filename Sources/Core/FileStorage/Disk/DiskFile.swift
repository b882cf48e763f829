import CFile
import NIOCore
import NIOPosix

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file on a disk that is open for reading.
///
/// What the system has in memory is read at once; threads that may wait for the disk read the rest. The system could send
/// it by itself (sendfile(2)), but would make an event loop, and with it all other clients, wait for the disk.
final class DiskFile: StoredFile {
    let size: Int64
    let modified: FileTime
    let isInMemory = false
    private let descriptor: Int32

    /// Bytes per read. Smaller pieces cost more thread switches; larger ones wait in memory for slow clients.
    private static let pieceSize: Int64 = 64 * 1024

    /// Takes over a descriptor. Fails if it isn't a file.
    private init?(descriptor: Int32) {
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
        size = Int64(status.st_size)
        self.modified = FileTime(seconds: Int(modified.tv_sec), nanoseconds: Int(modified.tv_nsec))
    }

    deinit {
        // Closing the last of a deleted file frees its blocks, which takes time; so may asking another machine.
        NIOThreadPool.singleton.submit { [descriptor] _ in close(descriptor) }
    }

    /// Opens a file.
    ///
    /// - Returns: nil when there is none, or what is there is not a file.
    /// - Throws: `IOError` when the system refuses.
    static func open(_ path: String) async throws -> DiskFile? {
        try await NIOThreadPool.singleton.runIfActive {
            // Without O_NONBLOCK a pipe of that name would be waited for.
            try Disk.descriptorNow(path, O_NONBLOCK).flatMap { DiskFile(descriptor: $0) }
        }
    }

    func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        var offset = range.lowerBound
        var untilYield = Self.piecesOfTurn
        var knowsCached = true
        while offset < range.upperBound {
            let part = offset..<min(offset + Self.pieceSize, range.upperBound)
            let cached = knowsCached ? readCached(part, &knowsCached) : nil
            let piece =
                if let cached { cached } else {
                    try await NIOThreadPool.singleton.runIfActive { try self.read(part) }
                }
            offset += Int64(piece.readableBytes)
            try await sink(piece)
            untilYield -= 1
            if untilYield == 0 {
                // Where the client reads as fast as the server sends, nothing before has waited.
                await Task.yield()
                untilYield = Self.piecesOfTurn
            }
        }
    }

    /// Pieces sent before the event loop serves others.
    private static let piecesOfTurn = 4

    /// Reads cached bytes, on any thread. Returns nil if the disk would block.
    ///
    /// - Parameter isKnown: Set to false if the file system can't report what is cached.
    private func readCached(_ range: Range<Int64>, _ isKnown: inout Bool) -> ByteBuffer? {
        let piece = fill(range) { address in
            let read = roost_read_cached(descriptor, address, range.count, off_t(range.lowerBound))
            if read < 0, errno != EAGAIN { isKnown = false }
            return read
        }
        return piece.readableBytes > 0 ? piece : nil
    }

    /// - Throws: `IOError` if the disk fails or the file has ended.
    private func read(_ range: Range<Int64>) throws -> ByteBuffer {
        var failure: Int32 = 0
        let piece = fill(range) { address in
            let read = pread(descriptor, address, range.count, off_t(range.lowerBound))
            if read < 0 { failure = errno }
            return read
        }
        if failure != 0 { throw IOError(errnoCode: failure, reason: "read") }
        guard piece.readableBytes > 0 else { throw IOError(errnoCode: EIO, reason: "the file became shorter") }
        return piece
    }

    /// Unsafe, so that the system writes into the buffer without a copy.
    private func fill(_ range: Range<Int64>, _ read: (UnsafeMutableRawPointer?) -> Int) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: range.count)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { max(0, read($0.baseAddress)) }
        return buffer
    }
}
