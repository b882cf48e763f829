import BSON
import Encoding
import Foundation
import JSON
import ParseModel
import ParseStorage

@testable import Migration

/// Dumps, exports and backups.
enum Archives {
    private static let fields: [Name: Field] = [
        "text": Field(.string), "count": Field(.number), "flag": Field(.boolean), "at": Field(.date),
        "object": Field(.object), "list": Field(.array), "bytes": Field(.bytes), "file": Field(.file),
        "point": Field(.geoPoint), "area": Field(.polygon), "owner": Field(.pointer("Thing")),
    ]

    private static let mapper: RowMapper = {
        var schema = ClassSchema(name: "Thing")
        for (name, field) in fields { schema.fields[name] = field }
        return RowMapper(plan: RowPlan(ImportTable(schema), schema: schema))
    }()

    /// A file of a source, in memory.
    private static let folder = "/dev/shm/roost-fuzz-\(getpid())"

    @Sendable static func bson(_ input: [UInt8]) throws {
        if let document = try? BSONReader.document(input) { _ = mapper.map(.mongo(document)) }
        try records(BSONRecordReader(ByteReader(BytesInMemory(input), of: "input")))
    }

    private static func records(_ reader: some RecordReader) throws {
        var inference = TypeInference()
        while let record = try reader.next() {
            inference.add(record, of: "Thing")
            _ = mapper.map(record)
        }
    }

    /// Any source that is one file.
    @Sendable static func read(_ input: [UInt8]) throws { try source(input, "Thing.json") }

    @Sendable static func zip(_ input: [UInt8]) throws { try source(input, "source.zip") }

    private static func source(_ input: [UInt8], _ name: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(input).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        let opened = try SourceOpener.open("\(folder)/\(name)", scratch: folder)
        for entry in opened.entries {
            precondition(!entry.path.utf8.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) })
        }
        for collection in try SourceCatalog(opened.entries, notes: []).collections {
            try? records(try collection.open())
        }
    }

    /// A header of a backup, and the records before it.
    @Sendable static func tar(_ input: [UInt8]) throws {
        let size = TarHeader.blockSize
        guard var header = TarHeader(Array(input.prefix(size))) else {
            var header = TarHeader(kind: .file, path: "a", size: 0, modified: 0)
            _ = header.apply(input)
            return
        }
        if header.apply(Array(input.dropFirst(size))) { _ = (header.isInside, header.blocks) }
    }
}
