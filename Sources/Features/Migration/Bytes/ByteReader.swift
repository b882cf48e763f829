/// Buffers a source and allows looking ahead.
final class ByteReader {
    /// The name of the source in errors.
    let place: String
    private let source: any ByteSource
    /// The bytes read. Those before ``start`` have been consumed.
    private(set) var buffer: [UInt8] = []
    /// The index of the next byte in ``buffer``.
    private(set) var start = 0
    private var dropped: Int64 = 0
    private var isAtEnd = false

    private static let pieceSize = 256 * 1024

    init(_ source: any ByteSource, of place: String) {
        self.source = source
        self.place = place
    }

    /// The number of bytes read from the underlying file.
    var bytesRead: Int64 { source.bytesRead }

    /// The position of the next byte in the source, in bytes.
    var offset: Int64 { dropped + Int64(start) }

    /// The number of buffered bytes that haven't been consumed.
    var available: Int { buffer.count - start }

    /// Reads until `count` bytes are available. Returns false if the source has fewer.
    func require(_ count: Int) throws -> Bool {
        while available < count, !isAtEnd { try readMore() }
        return available >= count
    }

    /// Reads more bytes. Returns false at the end of the source.
    @discardableResult
    func readMore() throws -> Bool {
        guard !isAtEnd else { return false }
        if start > 0 {
            buffer.removeSubrange(0..<start)
            dropped += Int64(start)
            start = 0
        }
        let piece = try source.read(max(Self.pieceSize, min(buffer.count, 16 * Self.pieceSize)))
        isAtEnd = piece.isEmpty
        buffer += piece
        return !isAtEnd
    }

    /// Consumes up to `count` available bytes.
    func advance(_ count: Int) { start += min(count, available) }

    /// Skips bytes, even if they haven't been read yet. Throws ``SourceDamage`` if the source has fewer.
    func skip(_ count: Int) throws {
        var left = count
        while left > 0 {
            guard try require(1) else { throw damage("unexpected end of file") }
            let step = min(left, available)
            advance(step)
            left -= step
        }
    }

    /// Returns the next byte without consuming it, or nil at the end.
    func peek() throws -> UInt8? { try require(1) ? buffer[start] : nil }

    /// Returns an error with the position of the next byte.
    func damage(_ reason: String) -> SourceDamage {
        SourceDamage(place: "\(place), byte \(offset)", reason: reason)
    }
}
