import CZlib

/// Bytes of a zip file that are not packed, compared with the checksum that the file has of them.
final class CheckedBytes: ByteSource {
    private let source: any ByteSource
    private let place: String
    private let expected: UInt32
    private var left: Int64
    private var checksum: UInt = 0

    /// - Parameters:
    ///   - size: How many bytes there are.
    ///   - checksum: Their CRC-32.
    ///   - place: What they are called in errors.
    init(_ source: any ByteSource, size: Int64, checksum: UInt32, of place: String) {
        self.source = source
        self.place = place
        left = size
        expected = checksum
    }

    var bytesRead: Int64 { source.bytesRead }

    func read(_ most: Int) throws -> [UInt8] {
        let bytes = try source.read(most)
        checksum = bytes.withUnsafeBufferPointer { crc32(checksum, $0.baseAddress, UInt32($0.count)) }
        left -= Int64(bytes.count)
        // Told before the last bytes are handed on, not after.
        if left == 0, UInt32(checksum) != expected {
            throw SourceDamage(place: place, reason: "it is damaged: its checksum is another")
        }
        return bytes
    }
}
