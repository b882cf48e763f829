import Encoding
import FileStorage
import JSON
import NIOCore
import NIOPosix

/// Imports uploaded files from the `files` folder of an export and from MongoDB's two GridFS collections.
struct FileImport: Sendable {
    let catalog: SourceCatalog
    let files: any FileStorage
    let storedFiles: any FileStorage
    let scratch: String
    let progress: ImportProgress
    private let thread = ThreadExecutor()

    /// Stores all files, except those that already exist with the same size.
    ///
    /// - Returns: The number of stored files, and notes on files that couldn't be stored.
    func run(_ pool: NIOThreadPool) async throws -> (Int, [String]) {
        var stored = 0
        var notes: [String] = []
        guard !catalog.files.isEmpty || catalog.gridFiles != nil else { return (0, []) }
        try await files.prepare()
        progress.begin(
            "storing files", totalBytes: catalog.files.reduce(catalog.gridChunks?.size ?? 0) { $0 + $1.size })
        for entry in catalog.files {
            try progress.check()
            do {
                guard let name = PercentEncoding.decode(entry.path) else { throw FileStorageError.unusableName }
                if try await store(entry, as: name, in: files, try await details(of: entry, pool)) { stored += 1 }
            } catch let error as FileStorageError {
                notes.append("the file \(entry.path) is skipped: \(error)")
            }
            progress.add(bytes: entry.size, documents: 0)
        }
        if let list = catalog.gridFiles, let chunks = catalog.gridChunks {
            let grid = GridFiles(list: list, chunks: chunks, folder: scratch + "/grid")
            let (count, damaged) = try await grid.run(thread, progress) { name, path, size in
                let entry = SourceEntry(path: name, size: size) { try FileBytes(path) }
                return try await store(entry, as: name, in: storedFiles, FileDetails())
            }
            stored += count
            notes += damaged
        }
        return (stored, notes)
    }

    private func details(of entry: SourceEntry, _ pool: NIOThreadPool) async throws -> FileDetails {
        guard let details = catalog.fileDetails[Name(entry.path)] else { return FileDetails() }
        return try await pool.runIfActive { FileDetails(parsing: try details.contents(limit: 4 * 1024 * 1024)) }
    }

    private func store(
        _ entry: SourceEntry, as name: String, in storage: any FileStorage, _ details: FileDetails
    ) async throws -> Bool {
        if let known = try await storage.open(name: name), known.size == entry.size { return false }
        try await storage.write(name: name, details: details, contents: FileReading(entry: entry, thread: thread))
        return true
    }
}

/// The bytes of a source file, read in pieces on a blocking thread.
struct FileReading: AsyncSequence, Sendable {
    let entry: SourceEntry
    let thread: ThreadExecutor

    /// Opens and reads the file on the thread.
    actor Reader {
        private let entry: SourceEntry
        private let thread: ThreadExecutor
        private var source: (any ByteSource)?

        init(_ entry: SourceEntry, _ thread: ThreadExecutor) {
            self.entry = entry
            self.thread = thread
        }

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// Returns the next bytes, or nil at the end.
        func next() throws -> ByteBuffer? {
            let opened = try source ?? entry.open()
            source = opened
            let bytes = try opened.read(256 * 1024)
            return bytes.isEmpty ? nil : ByteBuffer(bytes: bytes)
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        mutating func next() async throws -> ByteBuffer? { try await reader.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: Reader(entry, thread)) }
}
