import BSON
import Encoding
import Foundation
import JSON
import ParseModel

@testable import Migration

/// Dumps, exports and backups.
enum Archives {
    private static let types: [FieldType] = [
        .string, .number, .boolean, .date, .object, .array, .bytes, .file, .geoPoint, .polygon, .pointer("Thing"),
    ]

    /// A folder for the source's file, in memory.
    private static let folder = "/dev/shm/roost-fuzz-\(getpid())"

    @Sendable static func bson(_ input: [UInt8]) throws {
        _ = try? BSONReader.document(input)
        try records(BSONRecordReader(ByteReader(BytesInMemory(input), of: "input")))
    }

    private static func records(_ reader: some RecordReader) throws {
        var inference = TypeInference()
        while let record = try reader.next() {
            inference.add(record, of: "Thing")
            var losses = Losses()
            switch record {
            case .mongo(let document):
                _ = MongoFields.acl(.document(document))
                for (member, type) in zip(document.members, types + types) {
                    _ = MongoFields.parameter(member.value, type, member.key.text, &losses)
                    _ = MongoValues.reported(member.value).text
                }
            case .rest(let object):
                for (member, type) in zip(object, types + types) {
                    _ = RESTFields.parameter(member.value, type, member.key.text, &losses)
                }
            case .unreadable: break
            }
        }
    }

    /// Any import source that is a single file.
    @Sendable static func read(_ input: [UInt8]) throws { try source(input, "Thing.json") }

    @Sendable static func zipFile(_ input: [UInt8]) throws { try source(input, "source.zip") }

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

    /// A tar header of a backup, and the extended headers before it.
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
