import CFile
import NIOCore
import NIOPosix
import Platform

/// A file on disk, open for reading.
///
/// Bytes in the page cache are read on the current thread, others on NIO's thread pool. sendfile(2) isn't used, because
/// it would block an event loop and with it all other clients.
final class DiskFile: StoredFile {
    let size: Int64
    let modified: FileTime
    let isInMemory = false
    private let descriptor: Int32

    /// Bytes per read. Smaller pieces cost more thread switches; larger ones stay in memory longer for slow clients.
    private static let pieceSize: Int64 = 64 * 1024

    /// Takes ownership of a descriptor. If it isn't a regular file, closes it and returns nil.
    private init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let file = Disk.Status(status) else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        (size, modified) = (file.size, file.modified)
    }

    deinit {
        // Closing the last descriptor of a deleted file frees its blocks, and network file systems send a request. Both
        // take time.
        NIOThreadPool.singleton.submit { [descriptor] _ in close(descriptor) }
    }

    /// Opens a file, or returns nil if no regular file has this path.
    static func open(_ path: String) async throws -> DiskFile? {
        try await NIOThreadPool.singleton.runIfActive {
            // Without O_NONBLOCK, opening a named pipe would block.
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
                // Otherwise the loop might never suspend if the client reads as fast as the server sends.
                await Task.yield()
                untilYield = Self.piecesOfTurn
            }
        }
    }

    /// Number of pieces sent before the event loop can serve other clients.
    private static let piecesOfTurn = 4

    /// Reads from the page cache on any thread. Returns nil if the bytes aren't cached or can't be read.
    ///
    /// - Parameter isKnown: Set to false if the cache can't be read, for example on an unsupported file system.
    private func readCached(_ range: Range<Int64>, _ isKnown: inout Bool) -> ByteBuffer? {
        let piece = fill(range) { address in
            let read = roost_read_cached(descriptor, address, range.count, off_t(range.lowerBound))
            if read < 0, errno != EAGAIN { isKnown = false }
            return read
        }
        return piece.readableBytes > 0 ? piece : nil
    }

    private func read(_ range: Range<Int64>) throws -> ByteBuffer {
        var failure: Int32 = 0
        let piece = fill(range) { address in
            let read = pread(descriptor, address, range.count, off_t(range.lowerBound))
            if read < 0 { failure = errno }
            return read
        }
        if failure != 0 { throw IOError(errnoCode: failure, reason: "read") }
        guard piece.readableBytes > 0 else { throw IOError(errnoCode: EIO, reason: "the file shrank while being read") }
        return piece
    }

    private func fill(_ range: Range<Int64>, _ read: (UnsafeMutableRawPointer?) -> Int) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: range.count)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { max(0, read($0.baseAddress)) }
        return buffer
    }
}
