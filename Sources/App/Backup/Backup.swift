import Encoding
import HTTP
import LocalPostgres
import Logging
import ParseModel
import Platform
import ServerConfiguration

/// A backup by `roost backup` or the console: one archive of the embedded PostgreSQL and the uploaded files on disk.
package struct Backup: Sendable {
    package struct Report: Sendable {
        /// The size of the archive in bytes.
        package let size: Int
        /// The time at which the copy of the database began.
        package let time: ParseDate
    }

    package enum Step: String, Sendable {
        case copying = "copying the database"
        case writing = "writing the backup"
        case checking = "checking the backup"

        /// The progress of the whole backup in percent when the step begins.
        var percent: Int {
            switch self {
            case .copying: 5
            case .writing: 30
            case .checking: 80
            }
        }
    }

    private let deployment: Deployment
    private let target: String
    private let logger: Logger
    private let report: @Sendable (Step) -> Void
    private let measure: @Sendable (Double) -> Void

    /// Creates a backup without reading anything yet.
    ///
    /// - Parameters:
    ///   - file: The file to create. It must not exist.
    ///   - progress: Called at the start of each step.
    ///   - measure: Called with the written fraction of the database's files, 0 to 1.
    package init(
        _ deployment: Deployment, file: String, logger: Logger, progress: @escaping @Sendable (Step) -> Void = { _ in },
        measure: @escaping @Sendable (Double) -> Void = { _ in }
    ) {
        self.deployment = deployment
        target = URL(fileURLWithPath: file).standardizedFileURL.path
        self.logger = logger
        report = progress
        self.measure = measure
    }

    /// Writes the backup under a temporary name, verifies it and renames it. Leaves nothing behind on failure.
    ///
    /// - Throws: `CommandFailure`, `LocalPostgres.Failure`, and database and file errors.
    package func run() async throws -> Report {
        guard deployment.configuration.databaseURI == nil else {
            throw CommandFailure(
                "roost backup copies Roost's embedded PostgreSQL only. Back up databaseURI with pg_dump "
                    + "(docs/maintenance.md)")
        }
        try checkFree()
        let access = DatabaseAccess(deployment, logger: logger)
        return try await access.withConnectionString { _ in
            let time = ParseDate.now
            report(.copying)
            let database = LocalPostgres(dataFolder: deployment.postgresFolder, logger: logger)
            return try await database.withCopy { copy in
                let name = FilePaths.name(of: target)
                let partial = "\(FilePaths.folder(of: target))/.\(name).partial"
                try? FileManager.default.removeItem(atPath: partial)
                do {
                    report(.writing)
                    let size = try await write(partial, copy, time)
                    report(.checking)
                    let reader = try BackupReader(partial)
                    _ = try reader.manifest()
                    try reader.readEntries(into: BackupCheck())
                    try appear(partial)
                    return Report(size: size, time: time)
                } catch {
                    try? FileManager.default.removeItem(atPath: partial)
                    throw error
                }
            }
        }
    }

    private func checkFree() throws {
        var status = stat()
        guard lstat(target, &status) != 0 else {
            throw CommandFailure("\(target) already exists. Choose another file name")
        }
        let parent = FilePaths.folder(of: target)
        guard access(parent, W_OK) == 0 else {
            throw CommandFailure("can't write in \(parent): \(SystemError())")
        }
    }

    private func write(_ partial: String, _ copy: String, _ time: ParseDate) async throws -> Int {
        let writer = try BackupWriter(partial)
        let manifest = BackupManifest(
            appId: deployment.configuration.appId, created: time, postgresVersion: try await LocalPostgres.version())
        try writer.add(
            BackupManifest.path, manifest.json.serialized(), modified: Int(time.milliseconds / 1000))
        try writer.addFolder("postgres")
        try writer.addFolder("postgres/cluster")
        try addCluster(copy, to: writer)
        // The files follow the database, so that the backup contains every file that an object refers to, unless it was
        // deleted meanwhile.
        try addFiles(to: writer)
        try writer.finish()
        return writer.size
    }

    private func addCluster(_ copy: String, to writer: BackupWriter) throws {
        let entries = try FileManager.default.subpathsOfDirectory(atPath: copy)
        for (place, entry) in entries.enumerated() {
            measure(Double(place) / Double(entries.count))
            var status = stat()
            guard lstat(copy + "/" + entry, &status) == 0 else {
                throw CommandFailure("\(entry) can't be read: \(SystemError())")
            }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try writer.addFolder("postgres/cluster/" + entry)
            case S_IFREG: try writer.add("postgres/cluster/" + entry, contentsOf: copy + "/" + entry)
            default: throw CommandFailure("\(entry) is neither a file nor a folder. Tablespaces are not supported")
            }
        }
    }

    private func addFiles(to writer: BackupWriter) throws {
        try writer.addFolder("files")
        try writer.addFolder("files/.metadata")
        for folder in ["", ".metadata/"] {
            let path = deployment.filesDirectory + "/" + folder
            for entry in try Self.entries(of: String(path.dropLast())) {
                var status = stat()
                // Hidden files are unfinished uploads.
                guard !entry.hasPrefix(".") else { continue }
                guard lstat(path + entry, &status) == 0 else {
                    // The file was deleted meanwhile.
                    if errno == ENOENT { continue }
                    throw CommandFailure("\(path)\(entry) can't be read: \(SystemError())")
                }
                guard status.st_mode & S_IFMT == S_IFREG else { continue }
                try writer.add("files/" + folder + entry, contentsOf: path + entry)
            }
        }
    }

    /// Returns the names in a folder, or an empty list if the folder doesn't exist because nothing was uploaded yet.
    ///
    /// - Throws: `CommandFailure` if the folder can't be listed. Otherwise the backup would lack its files silently.
    private static func entries(of path: String) throws -> [String] {
        var status = stat()
        if lstat(path, &status) != 0, errno == ENOENT { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw CommandFailure("\(path) can't be listed: \(ErrorText.reason(error))")
        }
    }

    /// Renames the backup, unless another process has created a file of that name.
    private func appear(_ partial: String) throws {
        if link(partial, target) == 0 {
            unlink(partial)
        } else {
            // On file systems without hard links, another process may still create the name in between.
            try checkFree()
            guard rename(partial, target) == 0 else {
                throw CommandFailure("can't rename \(partial) to \(target): \(SystemError())")
            }
        }
        FreshFolder.syncName(of: target)
    }
}

extension Backup {
    /// A function that writes a backup of the given name. Reports the progress in percent with the current step.
    typealias Writer =
        @Sendable (
            _ name: String, _ progress: @escaping @Sendable (_ percent: Int, _ words: String) -> Void
        ) async throws -> Void

    /// Returns the function that writes backups into a folder, or nil if the database is external.
    ///
    /// - Throws: `ConfigurationError` if the folder is the folder of uploaded files, which clients can download, or lies
    ///   inside it.
    static func writer(into folder: String, _ deployment: Deployment, logger: Logger) throws -> Writer? {
        guard deployment.configuration.databaseURI == nil else { return nil }
        let paths = [folder, deployment.filesDirectory].map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }
        guard !"\(paths[0])/".hasPrefix("\(paths[1])/") else {
            throw ConfigurationError(
                "console.backupFolder can't be inside the files folder, which clients can download: \(folder)")
        }
        return { name, progress in
            _ = try await LongWork.backups.carryOut {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                removeLeftovers(in: folder)
                return try await Backup(deployment, file: "\(folder)/\(name)", logger: logger) { step in
                    progress(step.percent, step.rawValue)
                } measure: { part in
                    progress(Step.writing.percent + Int(part * 50), Step.writing.rawValue)
                }.run()
            }
        }
    }

    /// Deletes unfinished backups of killed processes. Backups in progress were modified within the last hour.
    private static func removeLeftovers(in folder: String) {
        let files = FileManager.default
        for name in (try? files.contentsOfDirectory(atPath: folder)) ?? []
        where name.hasPrefix(".roost-") && name.hasSuffix(".tar.partial") {
            let path = "\(folder)/\(name)"
            let changed = (try? files.attributesOfItem(atPath: path))?[.modificationDate] as? Date
            if let changed, changed.timeIntervalSinceNow < -3_600 { try? files.removeItem(atPath: path) }
        }
    }
}
