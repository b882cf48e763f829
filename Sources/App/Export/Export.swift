import Crypto
import Encoding
import FileStorage
import JSON
import Migration
import ParseModel
import ParseStorage
import Platform
import Synchronization

/// `roost export`: writes the app's database and files to a folder of JSON files.
package struct Export: Sendable {
    package struct Request: Sendable {
        package var folder: String
        package var form = DatabaseExport.Form.parse
        /// The names of the classes, or nil for all.
        package var classes: [String]?
        /// The earliest update time of exported objects, or nil to export all objects.
        package var since: ParseDate?
        package var withFiles = true

        /// Creates a request to export everything, including files.
        package init(folder: String) { self.folder = folder }
    }

    package enum Progress: Sendable {
        /// Rows of a class or relation were written, `count` so far. `of` is the estimated total, or nil if unknown.
        case rows(table: String, count: Int, of: Int?)
        /// A class or relation is complete.
        case table(name: String, count: Int)
        /// Files were copied, `count` in total so far.
        case files(count: Int)
    }

    package struct Report: Sendable {
        /// The number of rows of each class and relation, in export order.
        package var rows: [(name: String, file: String, count: Int)] = []
        /// The number of copied files and their total size in bytes.
        package var files = (count: 0, bytes: 0)
        /// The names of files that can't be decrypted.
        package var unreadable: [String] = []
        /// The time of the exported snapshot.
        package var time = ParseDate(milliseconds: 0)
    }

    private let deployment: Deployment
    private let request: Request
    private let report: @Sendable (Progress) -> Void

    package init(_ deployment: Deployment, _ request: Request, progress: @escaping @Sendable (Progress) -> Void) {
        self.deployment = deployment
        self.request = request
        report = progress
    }

    /// Writes the export. Leaves nothing behind on failure or cancellation.
    ///
    /// - Throws: `CommandFailure`, `DatabaseExport.Refusal`, and database and file errors.
    package func run() async throws -> Report {
        let folder = try FreshFolder(target: request.folder)
        do {
            let result = try await write(folder)
            try folder.appear()
            return result
        } catch {
            folder.abandon()
            throw error
        }
    }

    private func write(_ folder: FreshFolder) async throws -> Report {
        let configuration = deployment.configuration
        let links = FileLinks(
            mountURL: configuration.publicServerURL ?? configuration.serverURL, applicationID: configuration.appId,
            hostedKey: configuration.fileKey)
        var wanted = DatabaseExport.Request(classes: request.classes, since: request.since, links: links)
        wanted.form = request.form
        var (result, sums) = try await DatabaseAccess(deployment).withClient { client in
            try await DatabaseExport.run(client, wanted) { export in
                var result = Report()
                var sums = ""
                result.time = export.time
                sums += try await write(schemas: export.schemas, in: folder)
                for table in export.tables {
                    let file = Self.fileName(of: table.name)
                    let (count, sum) = try await write(table, file, of: export, in: folder)
                    result.rows.append((table.name, file, count))
                    sums += sum
                }
                return (result, sums)
            }
        }
        if request.withFiles { sums += try await copyFiles(to: folder, &result) }
        let manifest = try ExportFile("roost-export.json", in: folder.path)
        try await manifest.append(self.manifest(result).serialized() + Array("\n".utf8))
        sums += try await manifest.finish()
        let list = try ExportFile("SHA256SUMS", in: folder.path)
        try await list.append(Array(sums.utf8))
        _ = try await list.finish()
        return result
    }

    /// Returns the file name of a class or relation. Only names created by other programs need escaping.
    static func fileName(of table: String) -> String {
        // Names of relations contain colons. A leading dot would hide the file.
        let name = PercentEncoding.encode(table).replacing("%3A", with: ":")
        return (name.hasPrefix(".") ? "%2E" + name.dropFirst() : name) + ".json"
    }

    /// The texts before, between and after the objects of a file.
    private var frame: (before: [UInt8], between: [UInt8], after: [UInt8]) {
        switch request.form {
        case .parse: (Array("{\"results\":[\n".utf8), Array(",\n".utf8), Array("\n]}\n".utf8))
        case .mongo: ([], Array("\n".utf8), Array("\n".utf8))
        }
    }

    private func write(schemas: [[UInt8]], in folder: FreshFolder) async throws -> String {
        let file = try ExportFile("_SCHEMA.json", in: folder.path)
        try await file.append(frame.before)
        for (index, schema) in schemas.enumerated() {
            if index > 0 { try await file.append(frame.between) }
            try await file.append(schema)
        }
        try await file.append(frame.after)
        return try await file.finish()
    }

    private func write(
        _ table: DatabaseExport.Table, _ name: String, of export: DatabaseExport, in folder: FreshFolder
    ) async throws -> (count: Int, sum: String) {
        let file = try ExportFile(name, in: folder.path)
        let written = Atomic(0)
        let separator = frame.between
        try await file.append(frame.before)
        try await export.read(table, separator: separator) { [report] text, rows in
            try Task.checkCancellation()
            let before = written.add(rows, ordering: .relaxed).oldValue
            if before > 0 { try await file.append(separator) }
            try await file.append(text)
            report(.rows(table: table.name, count: before + rows, of: table.estimatedRows))
        }
        let count = written.load(ordering: .relaxed)
        if request.form == .parse || count > 0 { try await file.append(frame.after) }
        report(.table(name: table.name, count: count))
        return (count, try await file.finish())
    }

    private func copyFiles(to folder: FreshFolder, _ result: inout Report) async throws -> String {
        try folder.makeFolder("files")
        try folder.makeFolder("files/.metadata")
        var sums = ""
        try await DeploymentFiles(deployment: deployment).withStored { stored in
            let storage = Deployment.files(stored, deployment.configuration)
            try await storage.visit(prefix: "") { listed in
                try Task.checkCancellation()
                do {
                    guard let (size, lines) = try await copyFile(listed.name, storage, to: folder) else { return }
                    sums += lines
                    result.files.count += 1
                    result.files.bytes += size
                    report(.files(count: result.files.count))
                } catch FileStorageError.notReadable {
                    result.unreadable.append(listed.name)
                }
            }
        }
        return sums
    }

    private func copyFile(
        _ name: String, _ storage: any FileStorage, to folder: FreshFolder
    ) async throws -> (size: Int, sums: String)? {
        guard let stored = try await storage.open(name: name) else { return nil }
        let entry = PercentEncoding.encode(name)
        let file = try ExportFile("files/" + entry, in: folder.path)
        do {
            try await stored.give(0..<stored.size) { try await file.append($0.readableBytesView) }
        } catch {
            // A truncated file must not pass for the whole one.
            try? FileManager.default.removeItem(atPath: folder.path + "/files/" + entry)
            throw error
        }
        var sums = try await file.finish()
        let details = try await storage.details(name: name)
        if !details.isEmpty {
            let file = try ExportFile("files/.metadata/" + entry, in: folder.path)
            try await file.append(details.serialized())
            sums += try await file.finish()
        }
        return (Int(stored.size), sums)
    }

    private func manifest(_ result: Report) -> JSONObject {
        var tables: JSONObject = [:]
        for table in result.rows {
            tables[Name(table.name)] = ["file": .string(table.file), "rows": .number(Double(table.count))]
        }
        var manifest: JSONObject = [
            "format": "roost-export", "version": 1, "form": .string(request.form.rawValue),
            "appId": .string(deployment.configuration.appId), "createdAt": .string(result.time.iso),
            "roostVersion": .string(Version.text), "isWhole": .bool(request.classes == nil && request.since == nil),
            "classes": .object(tables),
        ]
        if let since = request.since { manifest["since"] = .string(since.iso) }
        if request.withFiles {
            manifest["files"] = [
                "count": .number(Double(result.files.count)), "bytes": .number(Double(result.files.bytes)),
                "unreadable": .array(result.unreadable.map { .string($0) }),
            ]
        }
        return manifest
    }
}

/// A file of an export while it is being written.
actor ExportFile {
    /// The path relative to the export folder.
    let path: String
    private let handle: OpenFile
    private var buffer: [UInt8] = []
    private var hash = SHA256()

    private static let bufferSize = 1 << 18

    /// Creates a file that only its owner can read.
    ///
    /// - Throws: `CommandFailure` if the file can't be created, for example because the file system ignores case and a
    ///   file exists whose name differs only in case.
    init(_ path: String, in folder: String) throws {
        let descriptor = open(folder + "/" + path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CommandFailure("\(path) can't be written: \(SystemError())") }
        self.path = path
        handle = OpenFile(descriptor)
    }

    func append(_ bytes: some Sequence<UInt8> & Sendable) throws {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private func flush() throws {
        hash.update(data: buffer)
        try handle.write(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Closes the file, and returns its line of `SHA256SUMS`.
    func finish() throws -> String {
        try flush()
        try handle.synchronize()
        try handle.close()
        return BackupSums.line(path, hash.finalize())
    }
}
