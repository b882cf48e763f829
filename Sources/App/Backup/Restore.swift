import Encoding
import LocalPostgres
import Platform

/// `roost restore`: creates a data folder from a backup.
package struct Restore: Sendable {
    private let deployment: Deployment
    private let file: String

    package init(_ deployment: Deployment, file: String) {
        self.deployment = deployment
        self.file = file
    }

    /// Restores the backup. The data folder appears only when it is complete and verified. On failure, nothing remains.
    ///
    /// - Returns: The time of the backup in ISO 8601.
    /// - Throws: `CommandFailure`, `LocalPostgres.Failure`, and file errors.
    package func run() async throws -> String {
        guard deployment.configuration.databaseURI == nil else {
            throw CommandFailure(
                "a backup restores Roost's embedded PostgreSQL, but the configuration sets databaseURI. Remove databaseURI"
            )
        }
        let reader = try BackupReader(file)
        let manifest = try reader.manifest()
        let version = try await LocalPostgres.version()
        guard manifest.postgresVersion == version else {
            throw CommandFailure(
                "The backup needs PostgreSQL \(manifest.postgresVersion), but \(version) is installed. Install PostgreSQL "
                    + "\(manifest.postgresVersion), or migrate with roost export and roost import.")
        }
        let folder = try FreshFolder(target: deployment.dataFolder)
        do {
            // The files folder can be outside the data folder.
            let isInside = deployment.filesDirectory.hasPrefix(deployment.dataFolder + "/")
            let files = isInside ? nil : try FreshFolder(target: deployment.filesDirectory)
            do {
                let filesPath =
                    files?.path
                    ?? folder.path + deployment.filesDirectory.dropFirst(deployment.dataFolder.count)
                try await unpack(reader, to: folder, files: filesPath, version)
                try files?.appear()
                do {
                    try folder.appear()
                } catch {
                    if files != nil { try? FileManager.default.removeItem(atPath: deployment.filesDirectory) }
                    throw error
                }
            } catch {
                files?.abandon()
                throw error
            }
            return manifest.created.iso
        } catch {
            folder.abandon()
            throw error
        }
    }

    private func unpack(_ reader: BackupReader, to folder: FreshFolder, files: String, _ version: Int) async throws {
        // PostgreSQL's user must be able to enter the folder. Its subfolders are private.
        guard chmod(folder.path, 0o755) == 0 else {
            throw CommandFailure("can't change the permissions of \(folder.path): \(SystemError())")
        }
        let sink = RestoreSink(folders: ["postgres": folder.path + "/postgres", "files": files])
        try reader.readEntries(into: sink)
        let cluster = folder.path + "/postgres/cluster"
        let made = try? String(contentsOfFile: cluster + "/PG_VERSION", encoding: .utf8)
        guard made?.trimmingBlanks(newlines: true) == "\(version)" else {
            throw CommandFailure("\(file) is damaged: its PostgreSQL \(version) database is missing")
        }
        try await LocalPostgres.adopt(folder.path + "/postgres")
        // A single sync is faster than syncing thousands of files.
        sync()
    }
}

/// Writes the entries of a backup to their target folders.
package final class RestoreSink: BackupSink {
    private let folders: [String: String]
    private var current: (path: String, handle: OpenFile, modified: Int)?

    /// - Parameter folders: The target folders, by the first component of paths in the backup.
    package init(folders: [String: String]) { self.folders = folders }

    private func place(of path: String) throws -> String {
        let parts = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let folder = parts.first.flatMap({ folders[String($0)] }) else {
            throw CommandFailure("the backup contains \(path), which isn't part of a Roost backup")
        }
        return parts.count == 1 ? folder : "\(folder)/\(parts[1])"
    }

    package func makeFolder(_ path: String) throws {
        let place = try place(of: path)
        guard folders.values.contains(place) else {
            guard mkdir(place, 0o700) == 0 else {
                throw CommandFailure("\(path) can't be created: \(SystemError())")
            }
            return
        }
        try FileManager.default.createDirectory(
            atPath: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    package func beginFile(_ path: String, modified: Int) throws {
        let place = try place(of: path)
        let descriptor = open(place, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure("\(path) can't be written: \(SystemError())")
        }
        current = (place, OpenFile(descriptor), modified)
    }

    package func write(_ bytes: [UInt8]) throws { try current?.handle.write(bytes) }

    package func endFile() throws {
        guard let (path, handle, modified) = current else { return }
        current = nil
        try handle.close()
        // ETags of files depend on the modification date.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: Double(modified))], ofItemAtPath: path)
    }
}
