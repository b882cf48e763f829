/// Bytes that come one piece after the other.
protocol ByteSource: AnyObject {
    /// How many bytes of the file behind it have been read, which shows how far an import is.
    var bytesRead: Int64 { get }

    /// The next bytes, up to a number of them; none at the end; throws ``SourceDamage`` when they cannot be read.
    func read(_ most: Int) throws -> [UInt8]
}

/// What cannot be read of a source.
struct SourceDamage: Error, CustomStringConvertible {
    /// The file, and where in it where that is known.
    let place: String
    let reason: String

    var description: String { "\(place): \(reason)" }
}

final class BytesInMemory: ByteSource {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var bytesRead: Int64 { Int64(position) }

    func read(_ most: Int) -> [UInt8] {
        let end = min(position + most, bytes.count)
        defer { position = end }
        return Array(bytes[position..<end])
    }
}

extension ByteSource {
    /// All bytes that are left; throws ``SourceDamage``, also for more than `limit` bytes.
    func readAll(limit: Int, of place: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try read(65_536)
            if piece.isEmpty { return bytes }
            bytes += piece
            guard bytes.count <= limit else { throw SourceDamage(place: place, reason: "more than \(limit) bytes") }
        }
    }
}
