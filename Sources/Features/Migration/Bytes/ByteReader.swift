/// A buffer before a source, in which one can look ahead.
final class ByteReader {
    /// What a reading is called in errors.
    let place: String
    private let source: any ByteSource
    /// The bytes read. Those before ``start`` are consumed.
    private(set) var buffer: [UInt8] = []
    /// Position of the next byte in ``buffer``.
    private(set) var start = 0
    private var dropped: Int64 = 0
    private var isAtEnd = false

    private static let pieceSize = 256 * 1024

    init(_ source: any ByteSource, of place: String) {
        self.source = source
        self.place = place
    }

    /// How many bytes of the file have been read.
    var bytesRead: Int64 { source.bytesRead }

    /// The place of the next byte, counted from the first.
    var offset: Int64 { dropped + Int64(start) }

    /// How many bytes are at hand.
    var available: Int { buffer.count - start }

    /// Makes sure that so many bytes are at hand, if there are so many; returns whether there are.
    func require(_ count: Int) throws -> Bool {
        while available < count, !isAtEnd { try readMore() }
        return available >= count
    }

    /// Reads more; false at the end.
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

    /// Steps over bytes that are at hand.
    func advance(_ count: Int) { start += min(count, available) }

    /// Steps over bytes, of which more than are at hand may be skipped; throws ``SourceDamage`` when there are fewer.
    func skip(_ count: Int) throws {
        var left = count
        while left > 0 {
            guard try require(1) else { throw damage("unexpected end of file") }
            let step = min(left, available)
            advance(step)
            left -= step
        }
    }

    /// The next byte, which is not taken; nil at the end.
    func peek() throws -> UInt8? { try require(1) ? buffer[start] : nil }

    /// An error at the place of the next byte.
    func damage(_ reason: String) -> SourceDamage {
        SourceDamage(place: "\(place), byte \(offset)", reason: reason)
    }
}
