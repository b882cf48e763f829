import BSON
import Encoding
import JSON
import NIOPosix
import Platform

/// Assembles GridFS files in a folder from their chunks, and passes on each complete file.
struct GridFiles: Sendable {
    let list: SourceCatalog.Collection
    let chunks: SourceCatalog.Collection
    let folder: String

    /// Returns the number of GridFS files in a source.
    static func count(_ catalog: SourceCatalog, _ pool: NIOThreadPool) async throws -> Int {
        guard let list = catalog.gridFiles, catalog.gridChunks != nil else { return 0 }
        return try await pool.runIfActive {
            let reader = try list.open()
            var count = 0
            while let record = try reader.next() {
                if case .mongo = record { count += 1 }
            }
            return count
        }
    }

    /// Assembles all files.
    ///
    /// - Parameters:
    ///   - thread: Runs the blocking reads.
    ///   - store: Stores a complete file, given its name, path and size. Returns whether it was new.
    /// - Returns: The number of new files, and notes on files that are incomplete or couldn't be stored.
    func run(
        _ thread: ThreadExecutor, _ progress: ImportProgress, _ store: (String, String, Int64) async throws -> Bool
    ) async throws -> (Int, [String]) {
        try PrivateFile.createFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let reading = GridReading(chunks, folder: folder, thread)
        var stored = 0
        var notes: [String] = []
        var wholes = try await reading.open(list)
        var isAtEnd = false
        while true {
            for whole in wholes {
                do {
                    if try await store(whole.name, whole.path, whole.size) { stored += 1 }
                } catch let error as SourceDamage {
                    throw error
                } catch {
                    notes.append("the file \(whole.name) is skipped: \(error)")
                }
                try? FileManager.default.removeItem(atPath: whole.path)
            }
            if isAtEnd { break }
            try progress.check()
            let step = try await reading.readSome()
            (wholes, isAtEnd) = (step.wholes, step.isAtEnd)
            progress.add(bytes: step.bytes, documents: 0)
        }
        for file in await reading.incomplete {
            notes.append("the file \(file.name) is skipped: it has only \(file.received) of \(file.size) bytes")
        }
        return (stored, notes)
    }
}

/// Reads the chunks in steps, confined to a thread.
actor GridReading {
    struct File: Sendable {
        let name: String
        let size: Int64
        let pieceSize: Int64
        var received: Int64 = 0
        /// The numbers of the chunks received, because a chunk may occur twice.
        var pieces: Set<Int64> = []
        var isStored = false
    }

    typealias Whole = (name: String, path: String, size: Int64)

    private let chunks: SourceCatalog.Collection
    private let folder: String
    private let thread: ThreadExecutor
    private var files: [Name: File] = [:]
    private var reader: (any RecordReader)?

    init(_ chunks: SourceCatalog.Collection, folder: String, _ thread: ThreadExecutor) {
        self.chunks = chunks
        self.folder = folder
        self.thread = thread
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Files with missing chunks, sorted by name.
    var incomplete: [File] { files.values.filter { $0.size > 0 && !$0.isStored }.sorted { $0.name < $1.name } }

    /// Reads the list of files and opens the chunks.
    ///
    /// - Returns: The empty files, which have no chunks.
    func open(_ list: SourceCatalog.Collection) throws -> [Whole] {
        let listed = try list.open()
        while let record = try listed.next() {
            guard case .mongo(let document) = record, let id = Self.key(document["_id"]),
                let name = document["filename"]?.stringValue, let size = document["length"]?.integerValue, size >= 0,
                let pieceSize = document["chunkSize"]?.integerValue, pieceSize > 0
            else { continue }
            files[id] = File(name: name, size: size, pieceSize: pieceSize)
        }
        reader = try chunks.open()
        return try files.filter { $0.value.size == 0 }.map { id, file in
            let path = self.path(of: id)
            try Self.write([], to: path, at: 0)
            return (file.name, path, 0)
        }
    }

    /// Reads up to 256 chunks. Returns the files that they complete.
    func readSome() throws -> (wholes: [Whole], isAtEnd: Bool, bytes: Int64) {
        guard let reader else { return ([], true, 0) }
        let before = reader.bytesRead
        var wholes: [Whole] = []
        for _ in 0..<256 {
            guard let record = try reader.next() else { return (wholes, true, reader.bytesRead - before) }
            guard case .mongo(let document) = record, let id = Self.key(document["files_id"]),
                let number = document["n"]?.integerValue, let bytes = document["data"]?.binaryValue,
                var file = files[id], !file.isStored, number >= 0, number <= file.size / file.pieceSize,
                Int64(bytes.count) <= file.size, number * file.pieceSize <= file.size - Int64(bytes.count),
                file.pieces.insert(number).inserted
            else { continue }
            let path = self.path(of: id)
            try Self.write(bytes, to: path, at: number * file.pieceSize)
            file.received += Int64(bytes.count)
            if file.received == file.size {
                file.isStored = true
                wholes.append((file.name, path, file.size))
            }
            files[id] = file
        }
        return (wholes, false, reader.bytesRead - before)
    }

    private static func key(_ value: BSONValue?) -> Name? { value.flatMap { MongoFields.id($0) }.map { Name($0) } }

    /// Returns the path for a file's content. Hashes the id, because an id could be any path.
    private func path(of id: Name) -> String { folder + "/" + SourceFingerprint.of(id.text) }

    private static func write(_ bytes: [UInt8], to path: String, at offset: Int64) throws {
        let file = try PrivateFile.open(path, O_CREAT)
        defer { try? file.close() }
        try file.seek(to: offset)
        try PrivateFile.write(bytes, to: file, path)
    }
}
