import Crypto
import Encoding
public import FileStorage
import Logging
public import NIOCore
import ParseStorage
import Postgres
import ServerConfiguration

/// Stores uploaded files in the database, for small deployments with one system to run and to back up.
///
/// Uses separate connections, so files don't delay queries.
public struct PostgresStorage: FileStorage {
    package let rows: FileRows
    private let client: PostgresClient
    private let options: Configuration.PostgresFiles
    /// Whether the database may be a read-only standby.
    private let onlyReads: Bool
    private let logger: Logger

    /// The number of bytes per row, at most 1 MB because larger writes share one connection.
    private var chunkSize: Int { min(options.chunkSize, 1_000_000) }

    /// The minimum time in seconds for which open files stay readable after they were replaced or deleted.
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
        // Only the server uses the pooler. Commands get the direct connection string.
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

    /// Connects, and creates the tables unless the server is read-only.
    public func prepare() async throws {
        try await client.start()
        if !onlyReads { try await rows.prepare() }
    }

    /// Unless read-only, deletes files replaced, deleted or left incomplete over an hour ago, every ten minutes.
    public func tend() async {
        while !onlyReads, !Task.isCancelled {
            do {
                try await rows.sweep(olderThan: Self.grace)
            } catch {
                if !Task.isCancelled { logger.warning("can't delete unused files", metadata: ["error": "\(error)"]) }
            }
            try? await Task.sleep(for: .seconds(600))
        }
    }

    public func shutdown() async { await client.shutdown() }

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
            // Other files may have been stored meanwhile. Of concurrent uploads, those that began first get the space.
            before = try await occupied(before: id)
            try checkRoom(before + size)
            let tag = "\"\(hash.finalize().prefix(16).hexadecimal)\""
            let total = size
            guard try await Self.passing({ try await rows.finish(id, name, size: total, tag: tag) }) else {
                throw FileStorageError.unavailable(retryAfter: 1)
            }
        } catch {
            // Runs even if the task was cancelled. If it fails, a later sweep removes the bytes.
            await Task { [rows] in try? await rows.abandon(id) }.value
            throw error
        }
    }

    /// Returns the bytes that stored files and earlier unfinished uploads occupy, or 0 if the total isn't limited.
    private func occupied(before id: Int64) async throws -> Int64 {
        guard options.maximumTotal != nil else { return 0 }
        return try await Self.passing { try await rows.total(before: id) }
    }

    private func checkRoom(_ bytes: Int64) throws {
        guard let limit = options.maximumTotal, bytes > Int64(limit) else { return }
        throw FileStorageError.detailsNotKept("The file store is full.")
    }

    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard Self.isUsable(name), let row = try await Self.passing({ try await rows.find(name) }) else { return nil }
        return PostgresFile(rows: rows, row: row)
    }

    public func details(name: String) async throws -> FileDetails {
        try await open(name: name)?.details ?? FileDetails()
    }

    public func delete(name: String) async throws {
        guard Self.isUsable(name), try await Self.passing({ try await rows.delete(name) }) else {
            throw FileStorageError.notFound
        }
    }

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

    /// Runs a statement. Throws ``FileStorageError/unavailable(retryAfter:)`` if the database is unreachable or busy.
    static func passing<R>(_ body: () async throws -> R) async throws -> R {
        do {
            return try await body()
        } catch let error as PostgresError where [.connectionLost, .unavailable, .busy].contains(error.kind) {
            throw FileStorageError.unavailable(retryAfter: 2)
        }
    }
}

/// A file in the database, as it was when opened.
package struct PostgresFile: StoredFile {
    let rows: FileRows
    let row: FileRows.Row

    package var size: Int64 { row.size }
    package var modified: FileTime { FileTime(milliseconds: row.modified) }
    package var entityTag: String { row.tag }
    package var details: FileDetails? { FileDetails(parsing: Array(row.details.utf8)) }
    package var isInMemory: Bool { false }
    /// The bytes of two rows: the one being sent, and the next.
    package var maxHeldBytes: Int { 2 * Int(row.chunk) }

    /// The error for a file that was removed while it was read, long after it was replaced or deleted.
    package struct Cut: Error {}

    package func give(_ range: Range<Int64>, to sink: (ByteBuffer) async throws -> Void) async throws {
        guard !range.isEmpty else { return }
        let last = (range.upperBound - 1) / row.chunk
        var number = range.lowerBound / row.chunk
        var piece = try await read(number, of: range)
        while number < last {
            let next = number + 1
            // Reads the next row while the client receives this one.
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
