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
    private static let readLength: Int64 = 128 * 1024
    /// How many bytes the system sends at a time to a client that takes them quickly. A slow one gets fewer, so that it is
    /// seen to take some.
    private static let sentLength: Int64 = 512 * 1024
    /// How long a quick client takes for a piece at most.
    private static let quick: Duration = .milliseconds(100)
    /// How many pieces follow one another before other clients of the event loop have their turn.
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

    /// Gives a part of it as it lies on the disk, piece by piece.
    ///
    /// The first piece is read, so that it can leave together with the head of an answer. Of the others that the system has
    /// in memory no more is told than where in the file they are, and the system copies them to the client (sendfile(2)).
    /// A thread reads what the disk has to be waited for.
    ///
    /// - Parameters:
    ///   - range: The bytes wanted.
    ///   - sink: Takes the pieces; the next one comes when it returns. Those in the file may be used until then.
    /// - Throws: The sink's error; `IOError` when the disk fails, or somebody cut the file short.
    public func give(_ range: Range<Int64>, to sink: (IOData) async throws -> Void) async throws {
        var offset = range.lowerBound
        var count = 0
        var isQuick = false
        while offset < range.upperBound {
            let start = ContinuousClock.now
            let rest = offset..<range.upperBound
            let sent = rest.prefix(isQuick ? Self.sentLength : Self.readLength)
            if count > 0, is_file_part_cached(descriptor, off_t(offset), sent.count) != 0 {
                try await lend(sent, to: sink)
                offset = sent.upperBound
            } else {
                let part = rest.prefix(Self.readLength)
                let piece =
                    if let cached = try read(part, onlyCached: true) { cached } else { try await readPatiently(part) }
                offset += Int64(piece.readableBytes)
                try await sink(.byteBuffer(piece))
            }
            isQuick = .now - start < Self.quick
            count += 1
            if count % Self.piecesInARow == 0 { await Task.yield() }
        }
    }

    /// Gives a part that stays in the file.
    private func lend(_ range: Range<Int64>, to sink: (IOData) async throws -> Void) async throws {
        let handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor)
        // Closing it is left to this object.
        defer { _ = try? handle.takeDescriptorOwnership() }
        let region = FileRegion(
            fileHandle: handle, readerIndex: Int(range.lowerBound), endIndex: Int(range.upperBound))
        try await sink(.fileRegion(region))
    }

    /// All of it, read by a thread.
    ///
    /// - Throws: `IOError` when the disk fails, or somebody cut the file short.
    func contents() async throws -> ByteBuffer {
        var contents = ByteBuffer()
        while contents.readableBytes < Int(length) {
            contents.writeImmutableBuffer(try await readPatiently(Int64(contents.readableBytes)..<length))
        }
        return contents
    }

    /// Lets a thread read, which may wait for the disk.
    private func readPatiently(_ range: Range<Int64>) async throws -> ByteBuffer {
        let piece = try await NIOThreadPool.singleton.runIfActive { try self.read(range, onlyCached: false) }
        guard let piece else { throw IOError(errnoCode: EIO, reason: "the file became shorter") }
        return piece
    }

    /// nil when the disk would have to be waited for, and should not, or there is nothing.
    ///
    /// Unsafe memory, since the system writes to an address: the buffer's own, without a copy.
    private func read(_ range: Range<Int64>, onlyCached: Bool) throws -> ByteBuffer? {
        var buffer = ByteBufferAllocator().buffer(capacity: range.count)
        var failure: Int32 = 0
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { bytes in
            let read = read_file_part(
                descriptor, bytes.baseAddress, range.count, off_t(range.lowerBound), onlyCached ? 1 : 0)
            if read < 0 { failure = errno }
            return max(0, read)
        }
        if failure == 0 { return buffer.readableBytes > 0 ? buffer : nil }
        if onlyCached { return nil }
        throw IOError(errnoCode: failure, reason: "read")
    }
}

extension FileRegion {
    /// Whether the file is still long enough for it.
    public var isInFile: Bool {
        var status = stat()
        let result = try? fileHandle.withUnsafeFileDescriptor { fstat($0, &status) }
        return result == 0 && status.st_size >= endIndex
    }
}

extension Range<Int64> {
    /// Its beginning, of so many numbers at most.
    fileprivate func prefix(_ length: Int64) -> Range<Int64> {
        lowerBound..<Swift.min(lowerBound + length, upperBound)
    }
}
