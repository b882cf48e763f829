import Crypto
import NIOCore

/// Encrypts a file in segments, so that it can be written as a stream and read in parts.
///
/// The header contains a format mark, a 23-byte random salt, and a tag that verifies the key. Segments of up to
/// 64 KiB follow, each with a 16-byte tag. Each file has its own derived key. The nonce contains the segment's number
/// and marks the last one, so swapped, missing or truncated segments are detected.
struct FileSegments: Sendable {
    static let headerSize = mark.count + saltSize + tagSize
    static let segmentSize = 64 * 1024
    private static let mark: [UInt8] = Array("ROOSTSEG".utf8) + [1]
    private static let saltSize = 23
    private static let tagSize = 16
    private static let sealedSize = Int64(segmentSize + tagSize)

    private enum Role: UInt8 {
        case inner, last, header
    }

    let header: [UInt8]
    private let key: SymmetricKey

    /// Creates the header and key of a new file.
    init(secret: SymmetricKey) throws {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<Self.saltSize).map { _ in UInt8.random(in: 0...255, using: &generator) }
        key = Self.key(secret, salt)
        let box = try AES.GCM.seal([UInt8](), using: key, nonce: Self.nonce(0, .header), authenticating: Self.mark)
        header = Self.mark + salt + Array(box.tag)
    }

    /// Derives the key from a file's header. Returns nil if the header isn't of this format or the secret is wrong.
    init?(secret: SymmetricKey, header: [UInt8]) {
        guard Self.isHeader(header) else { return nil }
        key = Self.key(secret, Array(header[Self.mark.count...].prefix(Self.saltSize)))
        self.header = header
        guard
            let box = try? AES.GCM.SealedBox(
                nonce: Self.nonce(0, .header), ciphertext: [UInt8](), tag: header.suffix(Self.tagSize)),
            (try? AES.GCM.open(box, using: key, authenticating: Self.mark)) != nil
        else { return nil }
    }

    /// Whether the first bytes of a file are the header of this format.
    static func isHeader(_ bytes: [UInt8]) -> Bool { bytes.count == headerSize && bytes.starts(with: mark) }

    /// Returns the plaintext size of a file in this format, or nil if the size is invalid.
    static func plainSize(_ size: Int64) -> Int64? {
        let body = size - Int64(headerSize)
        let rest = body % sealedSize
        guard body >= tagSize, rest == 0 || rest >= tagSize else { return nil }
        return body - (body + sealedSize - 1) / sealedSize * Int64(tagSize)
    }

    static func sealedRange(_ segments: ClosedRange<Int64>, of size: Int64) -> Range<Int64> {
        let start = Int64(headerSize) + segments.lowerBound * sealedSize
        return start..<min(size, start + Int64(segments.count) * sealedSize)
    }

    func seal(_ plain: [UInt8], _ number: Int64, isLast: Bool) throws -> ByteBuffer {
        let box = try AES.GCM.seal(plain, using: key, nonce: Self.nonce(number, isLast ? .last : .inner))
        var sealed = ByteBuffer(bytes: box.ciphertext)
        sealed.writeBytes(box.tag)
        return sealed
    }

    /// - Throws: ``FileStorageError/notReadable``.
    func open(_ sealed: [UInt8], _ number: Int64, isLast: Bool) throws -> ByteBuffer {
        guard
            let box = try? AES.GCM.SealedBox(
                nonce: Self.nonce(number, isLast ? .last : .inner), ciphertext: sealed.dropLast(Self.tagSize),
                tag: sealed.suffix(Self.tagSize)),
            let plain = try? AES.GCM.open(box, using: key)
        else { throw FileStorageError.notReadable }
        return ByteBuffer(bytes: plain)
    }

    private static func key(_ secret: SymmetricKey, _ salt: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: salt, info: Array("roost file segments".utf8), outputByteCount: 32)
    }

    private static func nonce(_ number: Int64, _ role: Role) throws -> AES.GCM.Nonce {
        let counter = withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
        return try AES.GCM.Nonce(data: [0, 0, 0] + counter + [role.rawValue])
    }
}

/// Encrypts content in segments. Emits a segment only once it is known whether it is the last.
struct SealedContents<Contents: AsyncSequence>: AsyncSequence where Contents.Element == ByteBuffer {
    let contents: Contents
    let segments: FileSegments

    struct AsyncIterator: AsyncIteratorProtocol {
        var contents: Contents.AsyncIterator
        let segments: FileSegments
        var pending = ByteBuffer()
        /// The number of the next segment, or nil before the header is emitted.
        var number: Int64?
        var isOver = false

        mutating func next(isolation: isolated (any Actor)?) async throws(any Error) -> ByteBuffer? {
            guard !isOver else { return nil }
            guard let number else {
                number = 0
                return ByteBuffer(bytes: segments.header)
            }
            while pending.readableBytes <= FileSegments.segmentSize,
                let piece = try await contents.next(isolation: isolation)
            {
                pending.discardReadBytes()
                if pending.readableBytes == 0 { pending = piece } else { pending.writeImmutableBuffer(piece) }
            }
            isOver = pending.readableBytes <= FileSegments.segmentSize
            let plain = pending.readBytes(length: Swift.min(pending.readableBytes, FileSegments.segmentSize)) ?? []
            self.number = number + 1
            return try segments.seal(plain, number, isLast: isOver)
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(contents: contents.makeAsyncIterator(), segments: segments)
    }
}

struct SegmentedFile: StoredFile {
    let size: Int64
    let isInMemory = false
    private let file: any StoredFile
    private let segments: FileSegments

    var modified: FileTime { file.modified }
    var maxHeldBytes: Int { file.maxHeldBytes }
    var entityTag: String { file.entityTag }
    var details: FileDetails? { file.details }

    /// - Throws: ``FileStorageError/notReadable`` if the size isn't possible in this format.
    init(_ file: any StoredFile, _ segments: FileSegments) throws {
        guard let size = FileSegments.plainSize(file.size) else { throw FileStorageError.notReadable }
        self.size = size
        self.file = file
        self.segments = segments
    }

    /// Reads the segments that overlap the range. Passes only authenticated bytes to `sink`.
    func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        // The only segment of an empty file is also read, because it shows that the file wasn't truncated.
        guard !range.isEmpty || size == 0 else { return }
        let length = Int64(FileSegments.segmentSize)
        let last = (range.upperBound - 1) / length
        let end = (size - 1) / length
        var number = range.lowerBound / length
        var sealed = ByteBuffer()
        try await file.give(FileSegments.sealedRange(number...last, of: file.size)) { piece in
            sealed.discardReadBytes()
            sealed.writeImmutableBuffer(piece)
            while number <= last {
                let part = FileSegments.sealedRange(number...number, of: file.size)
                guard let bytes = sealed.readBytes(length: part.count) else { return }
                let plain = try segments.open(bytes, number, isLast: number == end)
                let start = number * length
                let wanted = Int(max(range.lowerBound - start, 0))..<Int(min(range.upperBound - start, length))
                guard let slice = plain.getSlice(at: wanted.lowerBound, length: wanted.count) else {
                    throw FileStorageError.notReadable
                }
                number += 1
                try await sink(slice)
            }
        }
        guard number > last else { throw FileStorageError.notReadable }
    }
}
