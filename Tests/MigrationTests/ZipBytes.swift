import CZlib

/// Hand-made zip files, valid and malicious.
struct ZipBytes {
    private var entries: [UInt8] = []
    private var directory: [UInt8] = []
    private var count = 0

    /// Adds an entry.
    ///
    /// - Parameters:
    ///   - size: A false uncompressed size, or nil for the true one.
    ///   - header: A false offset, or nil for the true one.
    mutating func add(_ name: String, _ content: [UInt8], deflated: Bool = true, size: Int? = nil, header: Int? = nil) {
        let packed = deflated ? Self.deflate(content) : content
        let checksum = content.withUnsafeBufferPointer { UInt32(crc32(0, $0.baseAddress, UInt32($0.count))) }
        let start = entries.count
        var common = Self.bytes(20, 2) + Self.bytes(0, 2) + Self.bytes(deflated ? 8 : 0, 2) + Self.bytes(0, 4)
        common += Self.bytes(Int(checksum), 4) + Self.bytes(packed.count, 4) + Self.bytes(size ?? content.count, 4)
        common += Self.bytes(name.utf8.count, 2) + Self.bytes(0, 2)
        entries += [0x50, 0x4B, 3, 4] + common + name.utf8 + packed
        directory += [0x50, 0x4B, 1, 2] + Self.bytes(20, 2) + common + Self.bytes(0, 2) + Self.bytes(0, 2)
        directory += Self.bytes(0, 2) + Self.bytes(0, 4) + Self.bytes(header ?? start, 4) + name.utf8
        count += 1
    }

    var file: [UInt8] {
        entries + directory + [0x50, 0x4B, 5, 6] + Self.bytes(0, 4) + Self.bytes(count, 2) + Self.bytes(count, 2)
            + Self.bytes(directory.count, 4) + Self.bytes(entries.count, 4) + Self.bytes(0, 2)
    }

    private static func bytes(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// Raw deflate data without zlib's header and trailer.
    static func deflate(_ bytes: [UInt8]) -> [UInt8] {
        var size = compressBound(UInt(bytes.count))
        var packed = [UInt8](repeating: 0, count: Int(size))
        compress2(&packed, &size, bytes, UInt(bytes.count), 9)
        return Array(packed[2..<Int(size) - 4])
    }

    static func gzip(_ bytes: [UInt8]) -> [UInt8] {
        let checksum = bytes.withUnsafeBufferPointer { UInt32(crc32(0, $0.baseAddress, UInt32($0.count))) }
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + deflate(bytes) + self.bytes(Int(checksum), 4)
            + self.bytes(bytes.count, 4)
    }
}
