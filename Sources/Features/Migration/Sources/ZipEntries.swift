import CZlib

/// The files in a zip file, according to the directory at its end.
///
/// A malicious zip file may contain names that lead out of the folder, entries that share bytes to expand without
/// limit, or wrong sizes. Inconsistent files are rejected.
enum ZipEntries {
    /// The first bytes of every zip file that isn't empty.
    static let magic: [UInt8] = [0x50, 0x4B, 0x03, 0x04]

    private static let endSize = 22
    private static let maxEntries = 1_000_000

    private struct Entry {
        var name: String
        var method: Int
        var checksum: UInt32
        var packed: Int64
        var size: Int64
        /// The offset of the entry's own header.
        var header: Int64
    }

    /// Lists the files. Throws ``SourceDamage`` if the file isn't a zip file or is inconsistent.
    static func list(_ path: String) throws -> [SourceEntry] {
        let version = try FileVersion(of: path)
        let (count, directory) = try findDirectory(path, version.size)
        guard count <= maxEntries, directory.count <= 1 << 30 else {
            throw SourceDamage(place: path, reason: "its directory is too large")
        }
        let bytes = try read(path, directory)
        var entries: [Entry] = []
        var offset = 0
        for _ in 0..<count {
            let (entry, next) = try readEntry(bytes, offset, path)
            offset = next
            entries.append(entry)
        }
        try checkOverlap(entries, directoryStart: directory.lowerBound, path)
        return try sourceEntries(entries, path, version)
    }

    private static func read(_ path: String, _ range: Range<Int64>) throws -> [UInt8] {
        try FileBytes(path, parts: [range]).readAll(limit: Int(range.count), of: path)
    }

    /// Returns the number of entries and the byte range of the directory.
    private static func findDirectory(_ path: String, _ size: Int64) throws -> (Int, Range<Int64>) {
        let damage = SourceDamage(place: path, reason: "not a zip file: its directory is missing")
        let tailSize = min(size, Int64(endSize + 65_535))
        guard tailSize >= endSize else { throw damage }
        let bytes = try read(path, size - tailSize..<size)
        let tail = LittleEndian(bytes)
        guard
            let place = stride(from: bytes.count - endSize, through: 0, by: -1).first(where: {
                tail.uint32($0) == 0x0605_4B50 && tail.uint16($0 + 20) == bytes.count - $0 - endSize
            }), let count = tail.uint16(place + 10), let length = tail.uint32(place + 12),
            let start = tail.uint32(place + 16)
        else { throw damage }
        var found = (count, Int64(start), Int64(length))
        if count == 0xFFFF || length == .max || start == .max {
            // Zip64: a locator before this record points to a larger end record.
            guard tail.uint32(place - 20) == 0x0706_4B50, let record = tail.int64(place - 12), record <= size - 56
            else {
                throw damage
            }
            let large = LittleEndian(try read(path, record..<record + 56))
            guard large.uint32(0) == 0x0606_4B50, let count = large.int64(32).flatMap(Int.init(exactly:)),
                let length = large.int64(40), let start = large.int64(48)
            else { throw damage }
            found = (count, start, length)
        }
        guard found.1 <= size, found.2 <= size - found.1 else { throw damage }
        return (found.0, found.1..<found.1 + found.2)
    }

    private static func readEntry(_ bytes: [UInt8], _ offset: Int, _ path: String) throws -> (Entry, next: Int) {
        let reader = LittleEndian(bytes)
        let damage = SourceDamage(place: path, reason: "its directory is damaged")
        guard reader.uint32(offset) == 0x0201_4B50, let flags = reader.uint16(offset + 8),
            let method = reader.uint16(offset + 10), let checksum = reader.uint32(offset + 16),
            let packed = reader.uint32(offset + 20), let size = reader.uint32(offset + 24),
            let nameLength = reader.uint16(offset + 28), let extraLength = reader.uint16(offset + 30),
            let commentLength = reader.uint16(offset + 32), let header = reader.uint32(offset + 42),
            bytes.count - offset - 46 >= nameLength + extraLength + commentLength,
            let name = String(validating: bytes[offset + 46..<offset + 46 + nameLength], as: UTF8.self)
        else { throw damage }
        guard flags & 1 == 0 else { throw SourceDamage(place: "\(path): \(name)", reason: "it is encrypted") }
        guard method == 0 || method == 8 else {
            throw SourceDamage(place: "\(path): \(name)", reason: "its compression method is not supported")
        }
        var entry = Entry(
            name: name, method: method, checksum: checksum, packed: Int64(packed), size: Int64(size),
            header: Int64(header))
        let extra = offset + 46 + nameLength
        try readLargeSizes(reader, extra..<extra + extraLength, &entry, damage)
        return (entry, extra + extraLength + commentLength)
    }

    /// Reads the Zip64 field, which contains only the values that need more than four bytes, in this order.
    private static func readLargeSizes(
        _ reader: LittleEndian, _ range: Range<Int>, _ entry: inout Entry, _ damage: SourceDamage
    ) throws {
        var place = range.lowerBound
        while place + 4 <= range.upperBound, let kind = reader.uint16(place), let length = reader.uint16(place + 2) {
            guard place + 4 + length <= range.upperBound else { throw damage }
            if kind == 1 {
                var field = place + 4
                for part in [\Entry.size, \Entry.packed, \Entry.header] where entry[keyPath: part] == 0xFFFF_FFFF {
                    guard field + 8 <= place + 4 + length, let value = reader.int64(field) else { throw damage }
                    entry[keyPath: part] = value
                    field += 8
                }
            }
            place += 4 + length
        }
    }

    /// Rejects entries that share bytes, the trick of zip bombs.
    private static func checkOverlap(_ entries: [Entry], directoryStart: Int64, _ path: String) throws {
        var end: Int64 = 0
        for entry in entries.sorted(by: { $0.header < $1.header }) {
            guard entry.header >= end, entry.header <= directoryStart - 30,
                entry.packed <= directoryStart - 30 - entry.header
            else {
                throw SourceDamage(place: path, reason: "its entries overlap")
            }
            end = entry.header + 30 + entry.packed
        }
    }

    private static func sourceEntries(
        _ entries: [Entry], _ path: String, _ version: FileVersion
    ) throws -> [SourceEntry] {
        var names: Set<[UInt8]> = []
        return try entries.compactMap { entry in
            try checkName(entry.name, path)
            // Skips folders, hidden files and the files that macOS adds.
            if entry.name.hasSuffix("/") || entry.name.hasPrefix("__MACOSX/") || isHidden(entry.name) { return nil }
            guard names.insert(Array(entry.name.utf8)).inserted else {
                throw SourceDamage(place: path, reason: "\(entry.name) is in the archive twice")
            }
            return SourceEntry(path: entry.name, size: entry.packed) { try open(entry, path, version) }
        }
    }

    private static func isHidden(_ name: String) -> Bool {
        name.split(separator: "/").contains { $0.hasPrefix(".") && $0 != ".metadata" }
    }

    private static func checkName(_ name: String, _ path: String) throws {
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isSafe =
            !name.isEmpty && !name.utf8.contains(0) && !name.utf8.contains(UInt8(ascii: "\\"))
            && name.utf8.first != UInt8(ascii: "/")
            && !parts.contains { $0.elementsEqual("..".utf8) || $0.elementsEqual(".".utf8) }
        guard isSafe else {
            throw SourceDamage(place: path, reason: "a file name leads out of the folder: \(name.debugDescription)")
        }
    }

    private static func open(_ entry: Entry, _ path: String, _ version: FileVersion) throws -> any ByteSource {
        let place = "\(path): \(entry.name)"
        let damage = SourceDamage(place: place, reason: "its header is damaged")
        let header = LittleEndian(try read(path, entry.header..<entry.header + 30))
        guard header.uint32(0) == 0x0403_4B50, let nameLength = header.uint16(26), let extraLength = header.uint16(28)
        else { throw damage }
        let start = entry.header + 30 + Int64(nameLength + extraLength)
        let packed = try FileBytes(path, parts: [start..<start + entry.packed], unchangedSince: version)
        guard entry.method != 0 || entry.packed == entry.size else { throw damage }
        let bytes: any ByteSource = try entry.method == 0 ? packed : InflatedBytes(packed, .raw, of: place)
        return CheckedBytes(bytes, size: entry.size, checksum: entry.checksum, of: place)
    }
}

/// The decompressed bytes of a zip entry, verified by their number and checksum.
final class CheckedBytes: ByteSource {
    private let source: any ByteSource
    private let place: String
    private let expected: UInt32
    private var left: Int64
    private var checksum: UInt = 0

    /// - Parameters:
    ///   - size: The number of bytes.
    ///   - checksum: The CRC-32 of the bytes.
    ///   - place: The name of the source in errors.
    init(_ source: any ByteSource, size: Int64, checksum: UInt32, of place: String) {
        self.source = source
        self.place = place
        left = size
        expected = checksum
    }

    var bytesRead: Int64 { source.bytesRead }

    func read(_ limit: Int) throws -> [UInt8] {
        let bytes = try source.read(limit)
        checksum = bytes.withUnsafeBufferPointer { crc32(checksum, $0.baseAddress, UInt32($0.count)) }
        left -= Int64(bytes.count)
        guard left >= 0 else { throw SourceDamage(place: place, reason: "it is larger than its header says") }
        // Thrown before the last bytes are returned, not after.
        if left == 0 ? UInt32(checksum) != expected : bytes.isEmpty {
            throw SourceDamage(place: place, reason: "it is damaged: its checksum doesn't match")
        }
        return bytes
    }
}

/// Reads little-endian integers from a byte array. Offsets out of bounds yield nil.
struct LittleEndian {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func uint16(_ offset: Int) -> Int? { integer(offset, 2).map { Int($0) } }

    func uint32(_ offset: Int) -> UInt32? { integer(offset, 4).map { UInt32($0) } }

    /// Reads 64 bits, or returns nil if they don't fit into 63.
    func int64(_ offset: Int) -> Int64? { integer(offset, 8).flatMap { Int64(exactly: $0) } }

    private func integer(_ offset: Int, _ count: Int) -> UInt64? {
        guard offset >= 0, offset <= bytes.count - count else { return nil }
        return (0..<count).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
    }
}
