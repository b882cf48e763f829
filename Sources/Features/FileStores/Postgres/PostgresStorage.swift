import Crypto
import Encoding
public import FileStorage
import Logging
public import NIOCore
import ParseStorage
import Postgres
import ServerConfiguration

/// Uploaded files in the database, for small set-ups: one thing to run, one thing to back up.
///
/// It has connections of its own, so that files keep no query waiting.
public struct PostgresStorage: FileStorage {
    package let rows: FileRows
    private let client: PostgresClient
    private let options: Configuration.PostgresFiles
    /// Whether the database may be a read-only standby.
    private let onlyReads: Bool
    private let logger: Logger

    /// Bytes per row. A megabyte would be a large write, for which all uploads share one connection.
    private var chunkSize: Int { min(options.chunkSize, 1_000_000) }

    /// Seconds for which replaced and deleted files stay readable.
    private static let grace = 3600.0

    init(
        _ options: Configuration.PostgresFiles, _ configuration: Configuration, connectionString: String, logger: Logger
    ) {
        func inSchema(_ text: String) -> String {
            PostgresConfiguration.connectionString(text, schema: configuration.databaseSchema)
        }
        let direct = configuration.directDatabaseURI.map(inSchema)
        var database = PostgresConfiguration(connectionString: inSchema(connectionString))
        database.sharedConnections = 2
        database.exclusiveConnections = 2
        // It is reached as the server's own client reaches it. Commands beside the server have the address behind a pooler.
        if configuration.databaseURI != nil, database.connectionString != direct {
            let pooler = configuration.databaseOptions.transactionPooler
            database.isBehindTransactionPooler = pooler != .none
            database.poolerKeepsStatements = pooler == .prepared
            database.directConnectionString = direct
        }
        database.onlyReads = configuration.readOnly
        database.checksTimeline = configuration.databaseURI != nil
        onlyReads = configuration.readOnly
        self.options = options
        self.logger = logger
        client = PostgresClient(configuration: database, logger: logger)
        rows = FileRows(client: client)
    }

    /// Makes the tables.
    public func prepare() async throws {
        try await client.start()
        if !onlyReads { try await rows.prepare() }
    }

    /// Removes what was replaced, deleted or cut off, now and then.
    public func tend() async {
        while !onlyReads, !Task.isCancelled {
            do {
                try await rows.sweep(olderThan: Self.grace)
            } catch {
                if !Task.isCancelled { logger.warning("unused files not cleaned up", metadata: ["error": "\(error)"]) }
            }
            try? await Task.sleep(for: .seconds(600))
        }
    }

    /// Closes the connections.
    public func shutdown() async { await client.shutdown() }

    /// Stores a file, replacing one of the same name.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        guard Self.isUsable(name) else { throw FileStorageError.unusableName }
        let text = String(decoding: details.serialized(), as: UTF8.self)
        let id = try await Self.passing { try await rows.begin(name, details: text, chunk: chunkSize) }
        do {
            var (number, size) = (Int64(0), Int64(0))
            var before = try await occupied(before: id)
            var hash = SHA256()
            var pending = ByteBuffer()
            func send() async throws {
                let bytes = Array(pending.readableBytesView)
                pending.clear()
                hash.update(data: bytes)
                size += Int64(bytes.count)
                try checkRoom(before + size)
                try await Self.passing { try await rows.append(bytes, number, to: id) }
                number += 1
            }
            for try await var chunk in contents {
                while let piece = chunk.readSlice(
                    length: min(chunk.readableBytes, chunkSize - pending.readableBytes)),
                    piece.readableBytes > 0
                {
                    pending.writeImmutableBuffer(piece)
                    if pending.readableBytes == chunkSize { try await send() }
                }
            }
            if pending.readableBytes > 0 { try await send() }
            // Others have stored files meanwhile; of those that are being written the earlier ones come first.
            before = try await occupied(before: id)
            try checkRoom(before + size)
            let tag = "\"\(hash.finalize().prefix(16).hexadecimal)\""
            let total = size
            guard try await Self.passing({ try await rows.finish(id, name, size: total, tag: tag) }) else {
                throw FileStorageError.unavailable(retryAfter: 1)
            }
        } catch {
            // Also when the task was cancelled. What cannot be removed now is swept later.
            await Task { [rows] in try? await rows.abandon(id) }.value
            throw error
        }
    }

    /// Stored bytes, or zero without a limit.
    private func occupied(before id: Int64) async throws -> Int64 {
        guard options.maximumTotal != nil else { return 0 }
        return try await Self.passing { try await rows.total(before: id) }
    }

    private func checkRoom(_ bytes: Int64) throws {
        guard let most = options.maximumTotal, bytes > Int64(most) else { return }
        throw FileStorageError.detailsNotKept("The file store is full.")
    }

    /// Opens a file.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard Self.isUsable(name), let row = try await Self.passing({ try await rows.find(name) }) else { return nil }
        return PostgresFile(rows: rows, row: row)
    }

    /// What the client said about a file when it was stored.
    public func details(name: String) async throws -> FileDetails {
        try await open(name: name)?.details ?? FileDetails()
    }

    /// Removes a file.
    public func delete(name: String) async throws {
        guard Self.isUsable(name), try await Self.passing({ try await rows.delete(name) }) else {
            throw FileStorageError.notFound
        }
    }

    /// Gives the files whose names begin with a text, by the bytes of their names.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        var last = ""
        while true {
            let page = try await Self.passing { [last] in try await rows.list(prefix: prefix, after: last, limit: 1000)
            }
            for row in page {
                try await use(
                    ListedFile(name: row.name, size: row.size, modified: FileTime(milliseconds: row.modified)))
            }
            guard let name = page.last?.name else { return }
            last = name
        }
    }

    private static func isUsable(_ name: String) -> Bool {
        !name.isEmpty && !name.hasPrefix(".") && name.utf8.count <= 1024 && !name.utf8.contains(0)
    }

    /// Runs a statement. That the database is out of reach or busy is said in the words of storages.
    static func passing<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error as PostgresError where [.connectionLost, .unavailable, .busy].contains(error.kind) {
            throw FileStorageError.unavailable(retryAfter: 2)
        }
    }
}

/// A file of the database, as it was when it was opened.
package struct PostgresFile: StoredFile {
    let rows: FileRows
    let row: FileRows.Row

    package var size: Int64 { row.size }
    package var modified: FileTime { FileTime(milliseconds: row.modified) }
    package var entityTag: String { row.tag }
    package var details: FileDetails? { FileDetails(parsing: Array(row.details.utf8)) }
    package var isInMemory: Bool { false }
    /// The row that the client takes, and the next.
    package var mostHeld: Int { 2 * Int(row.chunk) }

    /// The file was removed while it was read, long after it was replaced or deleted.
    package struct Cut: Error {}

    package func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        guard !range.isEmpty else { return }
        let last = (range.upperBound - 1) / row.chunk
        var number = range.lowerBound / row.chunk
        var piece = try await read(number, of: range)
        while number < last {
            let next = number + 1
            // The next one comes while the client takes this one.
            async let ahead = read(next, of: range)
            try await sink(piece)
            piece = try await ahead
            number = next
        }
        try await sink(piece)
    }

    private func read(_ number: Int64, of range: Range<Int64>) async throws -> ByteBuffer {
        let start = number * row.chunk
        let part = max(range.lowerBound, start) - start..<min(range.upperBound - start, row.chunk)
        let result = try await PostgresStorage.passing { try await rows.read(row.id, number, part) }
        guard let piece = result?.withBytes(0, 0, { ByteBuffer(bytes: $0) }), piece.readableBytes == part.count else {
            throw Cut()
        }
        return piece
    }
}

extension FileTime {
    init(milliseconds: Int64) {
        self.init(seconds: Int(milliseconds / 1000), nanoseconds: Int(milliseconds % 1000) * 1_000_000)
    }
}
