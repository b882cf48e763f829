/// A sequential source of bytes.
protocol ByteSource: AnyObject {
    /// The number of bytes read from the underlying file, which shows the progress of an import.
    var bytesRead: Int64 { get }

    /// Returns up to `limit` more bytes, or an empty array at the end. Throws ``SourceDamage`` if they can't be read.
    func read(_ limit: Int) throws -> [UInt8]
}

/// The error for a source that can't be read.
struct SourceDamage: Error, CustomStringConvertible {
    /// The file and, if known, the position in it.
    let place: String
    let reason: String

    var description: String { "\(place): \(reason)" }
}

final class BytesInMemory: ByteSource {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var bytesRead: Int64 { Int64(position) }

    func read(_ limit: Int) -> [UInt8] {
        let end = min(position + limit, bytes.count)
        defer { position = end }
        return Array(bytes[position..<end])
    }
}

extension ByteSource {
    /// Reads all remaining bytes. Throws ``SourceDamage`` if they can't be read or exceed `limit`.
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
