import Crypto
import Encoding
import JSON
import ParseModel
import Platform

/// Reads and verifies a backup from start to end. It trusts neither paths nor lengths nor the end of the archive.
package final class BackupReader {
    private let handle: OpenFile
    private let path: String
    private var left: Int
    private var sums = ""

    private static let pieceSize = 1 << 20
    /// The size limit of the checksums, which are read into memory. Those of a few million files are smaller.
    private static let maxBytesInMemory = 1 << 30

    /// Opens an archive.
    ///
    /// - Throws: `CommandFailure` if it is not a readable file.
    package init(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw CommandFailure("\(path) can't be read: \(SystemError())") }
        handle = OpenFile(descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure("\(path) is not a file")
        }
        self.path = path
        left = Int(status.st_size)
    }

    private var damaged: CommandFailure { CommandFailure("\(path) is damaged or isn't a Roost backup") }

    private func read(_ count: Int) throws -> [UInt8] {
        guard count <= left else { throw damaged }
        var data: [UInt8] = []
        while data.count < count {
            let piece = try handle.read(count - data.count)
            guard !piece.isEmpty else { throw damaged }
            data += piece
        }
        left -= count
        return data
    }

    /// Skips the padding of an entry's last block, which must be zero.
    private func skipPadding(_ size: Int) throws {
        guard try read(TarHeader.padding(size)).allSatisfy({ $0 == 0 }) else { throw damaged }
    }

    private func header() throws -> TarHeader? {
        let block = try read(TarHeader.blockSize)
        if block.allSatisfy({ $0 == 0 }) { return nil }
        guard let header = TarHeader(block) else { throw damaged }
        guard header.kind == .records else { return header }
        guard header.size <= 64 * 1024 else { throw damaged }
        let records = try read(header.size)
        try skipPadding(header.size)
        guard var next = TarHeader(try read(TarHeader.blockSize)), next.kind != .records, next.apply(records)
        else { throw damaged }
        return next
    }

    /// Reads the first entry, the manifest.
    ///
    /// - Throws: `CommandFailure` if the file is not a backup.
    package func manifest() throws -> BackupManifest {
        guard let header = try header(), header.kind == .file, header.path == BackupManifest.path, header.size < 1 << 20
        else { throw damaged }
        let bytes = try read(header.size)
        try skipPadding(header.size)
        guard let json = try? JSONValue(parsing: bytes, maximumDepth: 16), let manifest = BackupManifest(json: json)
        else { throw damaged }
        sums += BackupSums.line(header.path, SHA256.hash(data: bytes))
        return manifest
    }

    /// Passes all other entries to a sink, and verifies all checksums.
    ///
    /// - Parameter sink: Receives the entries. They are verified only when this method returns.
    /// - Throws: `CommandFailure` if the archive is damaged, `CancellationError`, and the sink's errors.
    package func readEntries(into sink: some BackupSink) throws {
        while let header = try header() {
            try Task.checkCancellation()
            guard header.isInside, header.size <= left else { throw damaged }
            switch header.kind {
            case .records: throw damaged
            case .folder:
                guard header.size == 0 else { throw damaged }
                try sink.makeFolder(header.path)
            case .file where header.path == BackupWriter.sumsPath:
                guard header.size <= Self.maxBytesInMemory, try read(header.size).elementsEqual(sums.utf8) else {
                    throw damaged
                }
                try skipPadding(header.size)
                guard left == 2 * TarHeader.blockSize, try read(left).allSatisfy({ $0 == 0 }) else { throw damaged }
                return
            case .file:
                try readFile(header, into: sink)
            }
        }
        throw damaged
    }

    private func readFile(_ header: TarHeader, into sink: some BackupSink) throws {
        try sink.beginFile(header.path, modified: header.modified)
        var hash = SHA256()
        var rest = header.size
        while rest > 0 {
            try Task.checkCancellation()
            let piece = try read(min(rest, Self.pieceSize))
            hash.update(data: piece)
            try sink.write(piece)
            rest -= piece.count
        }
        try sink.endFile()
        try skipPadding(header.size)
        sums += BackupSums.line(header.path, hash.finalize())
    }
}

/// Receives the entries of a backup.
package protocol BackupSink {
    func makeFolder(_ path: String) throws
    func beginFile(_ path: String, modified: Int) throws
    func write(_ bytes: [UInt8]) throws
    func endFile() throws
}

/// Discards all entries, to verify an archive.
package struct BackupCheck: BackupSink {
    package init() {}

    package func makeFolder(_ path: String) {}
    package func beginFile(_ path: String, modified: Int) {}
    package func write(_ bytes: [UInt8]) {}
    package func endFile() {}
}

/// The description of a backup, stored as its first entry.
package struct BackupManifest: Sendable, Equatable {
    /// The manifest's path in the archive.
    package static let path = "roost-backup.json"
    /// The version of the archive format.
    static let version = 1

    var appId: String
    var created: ParseDate
    /// The major version of PostgreSQL that wrote the database files.
    package var postgresVersion: Int

    package init(appId: String, created: ParseDate, postgresVersion: Int) {
        self.appId = appId
        self.created = created
        self.postgresVersion = postgresVersion
    }

    /// Reads the entry, or returns nil if it is invalid or has an unknown format.
    init?(json: JSONValue) {
        guard json["format"] == "roost-backup", json["version"] == .number(Double(Self.version)),
            let created = json["createdAt"]?.stringValue.flatMap({ ParseDate(iso: $0) }),
            let version = json["postgresVersion"]?.numberValue.flatMap({ Int(exactly: $0) })
        else { return nil }
        self.init(appId: json["appId"]?.stringValue ?? "", created: created, postgresVersion: version)
    }

    package var json: JSONObject {
        [
            "format": "roost-backup", "version": .number(Double(Self.version)), "createdAt": .string(created.iso),
            "roostVersion": .string(Version.text), "appId": .string(appId),
            "postgresVersion": .number(Double(postgresVersion)),
        ]
    }
}
