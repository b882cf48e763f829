import BSON
import Foundation
import JSON
import NIOPosix

/// Files that MongoDB keeps in pieces: puts each together in a folder, and hands it on when it is whole.
struct GridFiles: Sendable {
    let list: SourceCatalog.Collection
    let chunks: SourceCatalog.Collection
    let folder: String

    private struct File: Sendable {
        let name: String
        let size: Int64
        let pieceSize: Int64
        var received: Int64 = 0
        var isStored = false
    }

    /// What a piece completes.
    private struct Whole: Sendable {
        let name: String
        let path: String
        let size: Int64
    }

    /// A reading of pieces that goes on where it was. `@unchecked Sendable`: one task has it, on one thread at a time.
    private final class Reading: @unchecked Sendable {
        var files: [String: File] = [:]
        let reader: any RecordReader
        var told: [String] = []

        init(_ reader: any RecordReader) { self.reader = reader }
    }

    /// Puts all files together.
    ///
    /// - Parameter store: Takes a whole file by its name, where it lies and its size; says whether it was new.
    /// - Returns: How many were new, and what is told of those that are not whole.
    func run(
        _ pool: NIOThreadPool, _ progress: ImportProgress, _ store: (String, String, Int64) async throws -> Bool
    ) async throws -> (Int, [String]) {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let reading = try await pool.runIfActive {
            let reading = Reading(try chunks.open())
            reading.files = try readList()
            return reading
        }
        var stored = 0
        for whole in reading.files.values where whole.size == 0 {
            let path = folder + "/empty"
            try Data().write(to: URL(fileURLWithPath: path))
            if try await store(whole.name, path, 0) { stored += 1 }
        }
        while true {
            try progress.check()
            let before = reading.reader.bytesRead
            let (wholes, isAtEnd) = try await pool.runIfActive { try readSome(reading) }
            progress.add(bytes: reading.reader.bytesRead - before, documents: 0)
            for whole in wholes {
                do {
                    if try await store(whole.name, whole.path, whole.size) { stored += 1 }
                } catch let error as SourceDamage {
                    throw error
                } catch {
                    reading.told.append("the file \(whole.name) is left out: \(error)")
                }
                try? FileManager.default.removeItem(atPath: whole.path)
            }
            if isAtEnd { break }
        }
        for file in reading.files.values.sorted(by: { $0.name < $1.name }) where file.size > 0 && !file.isStored {
            reading.told.append(
                "the file \(file.name) is left out: only \(file.received) of \(file.size) bytes are there")
        }
        return (stored, reading.told)
    }

    private func readList() throws -> [String: File] {
        var files: [String: File] = [:]
        let reader = try list.open()
        while let record = try reader.next() {
            guard case .mongo(let document) = record, let id = Self.key(document["_id"]),
                let name = document["filename"]?.stringValue, let size = document["length"]?.integerValue, size >= 0,
                let pieceSize = document["chunkSize"]?.integerValue, pieceSize > 0
            else { continue }
            files[id] = File(name: name, size: size, pieceSize: pieceSize)
        }
        return files
    }

    private static func key(_ value: BSONValue?) -> String? { value.flatMap { MongoFields.id($0) } }

    /// Reads pieces until files are whole, or for a while.
    private func readSome(_ reading: Reading) throws -> ([Whole], isAtEnd: Bool) {
        var wholes: [Whole] = []
        for _ in 0..<256 {
            guard let record = try reading.reader.next() else { return (wholes, true) }
            guard case .mongo(let document) = record, let id = Self.key(document["files_id"]),
                let number = document["n"]?.integerValue, let bytes = document["data"]?.binaryValue,
                var file = reading.files[id], !file.isStored, number >= 0, number <= file.size / file.pieceSize,
                number * file.pieceSize + Int64(bytes.count) <= file.size
            else { continue }
            // The id may hold anything: its hash is a name that stays in the folder.
            let path = folder + "/" + SourceFingerprint.of(id)
            try Self.write(bytes, to: path, at: number * file.pieceSize)
            file.received += Int64(bytes.count)
            if file.received == file.size {
                file.isStored = true
                wholes.append(Whole(name: file.name, path: path, size: file.size))
            }
            reading.files[id] = file
        }
        return (wholes, false)
    }

    private static func write(_ bytes: [UInt8], to path: String, at offset: Int64) throws {
        if !FileManager.default.fileExists(atPath: path) {
            _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        guard let file = FileHandle(forWritingAtPath: path) else {
            throw SourceDamage(place: path, reason: "it cannot be written")
        }
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: bytes)
    }
}
