import BSON
import Encoding
import JSON

/// The collections in a `mongodump --archive` file, in which parts of several collections alternate.
///
/// Reads the archive once, verifies its checksums and records the byte ranges of each collection.
enum ArchiveEntries {
    /// The first bytes of every archive.
    static let magic: [UInt8] = [0x6D, 0xE2, 0x99, 0x81]
    /// The end marker of a part: a length that no document has.
    private static let terminator: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]

    private struct Collection {
        var parts: [Range<Int64>] = []
        var checksum = CRC64()
        var isComplete = false
    }

    /// Lists the collections as files of mongodump's folder format: `db/collection.bson` and
    /// `db/collection.metadata.json`.
    ///
    /// - Throws: ``SourceDamage`` if the archive can't be read, or is damaged or truncated.
    static func list(_ path: String) throws -> [SourceEntry] {
        let version = try FileVersion(of: path)
        let reader = ByteReader(try FileBytes(path, unchangedSince: version), of: path)
        try reader.skip(magic.count)
        guard try document(reader) != nil else { throw reader.damage("the archive has no header") }
        var metadata: [(path: String, text: [UInt8])] = []
        while let document = try document(reader) {
            guard let name = name(document) else { throw reader.damage("a collection without a name") }
            let text = document["metadata"]?.stringValue ?? "{}"
            metadata.append((name, Array(text.utf8)))
        }
        var collections: [Name: Collection] = [:]
        while let header = try header(reader) {
            guard let name = name(header).map({ Name($0) }) else { throw reader.damage("a part without a name") }
            // Removed from the dictionary while it changes, because adding a part would otherwise copy all parts.
            var collection = collections.removeValue(forKey: name) ?? Collection()
            guard !collection.isComplete else { throw reader.damage("a part after the end of its collection") }
            if case .bool(true)? = header["EOF"] {
                let expected = header["CRC"]?.integerValue.map { UInt64(bitPattern: $0) }
                guard expected == nil || expected == collection.checksum.value else {
                    throw reader.damage("the archive is damaged: wrong checksum of \(name)")
                }
                collection.isComplete = true
                guard try isTerminator(reader) else { throw reader.damage("unexpected data after the end of \(name)") }
                reader.advance(terminator.count)
            } else {
                try readPart(reader, &collection)
            }
            collections[name] = collection
        }
        if let open = collections.first(where: { !$0.value.isComplete }) {
            throw SourceDamage(place: path, reason: "unexpected end of file: \(open.key) has no end")
        }
        return metadata.map { name, text in
            SourceEntry(path: name + ".metadata.json", size: Int64(text.count)) { BytesInMemory(text) }
        }
            + collections.sorted { $0.key < $1.key }.map { name, collection in
                let parts = collection.parts
                let size = parts.reduce(0) { $0 + Int64($1.count) }
                return SourceEntry(path: "\(name).bson", size: size) {
                    try FileBytes(path, parts: parts, unchangedSince: version)
                }
            }
    }

    private static func name(_ document: BSONDocument) -> String? {
        guard let database = document["db"]?.stringValue, let collection = document["collection"]?.stringValue else {
            return nil
        }
        return PathName.encode(database) + "/" + PathName.encode(collection)
    }

    private static func isTerminator(_ reader: ByteReader) throws -> Bool {
        guard try reader.require(4) else { throw reader.damage("unexpected end of file") }
        return reader.buffer[reader.start..<reader.start + 4].elementsEqual(terminator)
    }

    private static func header(_ reader: ByteReader) throws -> BSONDocument? {
        guard try reader.require(1) else { return nil }
        guard let header = try document(reader) else { throw reader.damage("a part of the archive has no header") }
        return header
    }

    /// Returns the next document, or nil after consuming a terminator.
    private static func document(_ reader: ByteReader) throws -> BSONDocument? {
        if try isTerminator(reader) {
            reader.advance(terminator.count)
            return nil
        }
        let length = try length(reader)
        defer { reader.advance(length) }
        do {
            return try BSONReader.document(reader.buffer, in: reader.start..<reader.start + length)
        } catch {
            throw reader.damage(error.reason)
        }
    }

    /// Returns the length of the next document, which is buffered completely.
    private static func length(_ reader: ByteReader) throws -> Int {
        guard let length = BSONReader.length(reader.buffer, at: reader.start), length >= BSONReader.shortestDocument,
            length <= 2 * BSONRecordReader.largestDocument
        else { throw reader.damage("an invalid document length") }
        guard try reader.require(length) else { throw reader.damage("unexpected end of file in a document") }
        return length
    }

    private static func readPart(_ reader: ByteReader, _ collection: inout Collection) throws {
        let start = reader.offset
        while try !isTerminator(reader) {
            let length = try length(reader)
            collection.checksum.add(reader.buffer[reader.start..<reader.start + length])
            reader.advance(length)
        }
        collection.parts.append(start..<reader.offset)
        reader.advance(terminator.count)
    }
}

/// Converts between collection names and the names of dump files. Encodes only `%` and `/`, but decodes every percent
/// escape, because mongodump encodes more characters.
enum PathName {
    static func encode(_ name: String) -> String {
        name.replacing("%", with: "%25").replacing("/", with: "%2F")
    }

    static func decode(_ name: String) -> String { PercentEncoding.decode(name) ?? name }
}

/// The 64-bit checksum of mongodump archives (ECMA-182, bits reversed).
struct CRC64 {
    private static let table: [UInt64] = (0..<256).map { byte in
        (0..<8).reduce(UInt64(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xC96C_5795_D787_0F42 : value >> 1 }
    }

    private var state = UInt64.max

    /// The checksum of the bytes added so far.
    var value: UInt64 { ~state }

    mutating func add(_ bytes: ArraySlice<UInt8>) {
        var state = self.state
        for byte in bytes { state = Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8 }
        self.state = state
    }
}
