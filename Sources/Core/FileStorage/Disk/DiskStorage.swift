import Encoding
public import NIOCore
import NIOPosix
import Platform

/// Stores uploaded files in a folder on disk, in the layout of parse-server's file-system adapter: one folder, each
/// file under its percent-encoded name. Details (metadata, tags and types not implied by the name) are stored in the
/// subfolder `.metadata`.
///
/// Names can't leave the folder: slashes are percent-encoded, and names that begin with a dot are rejected, which
/// includes `.`, `..`, the subfolder and temporary files.
public struct DiskStorage: FileStorage {
    public let directory: String

    /// The limit of common file systems for file names, in bytes.
    private static let maximumEntryLength = 255

    /// Creates a storage. The folder is created when the storage is prepared or first written to.
    public init(directory: String) {
        self.directory = directory
    }

    /// Creates the folders.
    ///
    /// - Throws: The file system's error.
    public func prepare() async throws {
        try await Disk.makeFolder(metadataFolder)
    }

    /// Stores a file, replacing any file of the same name. Readers see the new file only after all of it is on disk.
    ///
    /// - Parameters:
    ///   - name: The unique name of the file.
    ///   - details: Metadata sent by the client.
    ///   - contents: The bytes. If the sequence throws, nothing is stored.
    /// - Throws: ``FileStorageError/unusableName``, the sequence's error, or the file system's error.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails = FileDetails(), contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        let (path, detailsPath) = (try path(of: name), try detailsPath(of: name))
        try await prepare()
        var unfinished = [try await writeUnfinished(contents, in: directory)]
        do {
            if !details.isEmpty {
                let bytes = OneBuffer(buffer: ByteBuffer(bytes: details.serialized()))
                unfinished.append(try await writeUnfinished(bytes, in: metadataFolder))
            }
            try await finish(unfinished, as: [path, detailsPath])
        } catch {
            for left in unfinished { await remove(left) }
            throw error
        }
        for folder in [directory, metadataFolder].prefix(unfinished.count) { try await Disk.synchronizeFolder(folder) }
    }

    /// Opens a file for reading.
    ///
    /// - Returns: The file, or nil if it doesn't exist or its name is unusable.
    /// - Throws: `IOError` if the system call fails.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard let path = try? path(of: name) else { return nil }
        return try await DiskFile.open(path)
    }

    /// Returns the details stored with a file, which are empty if the client sent none or the name is unusable.
    ///
    /// - Throws: The file system's error.
    public func details(name: String) async throws -> FileDetails {
        guard let path = try? detailsPath(of: name),
            let bytes = try await Disk.contents(of: path, atMost: 4 * 1024 * 1024)
        else { return FileDetails() }
        return FileDetails(parsing: bytes)
    }

    /// Deletes a file and its details.
    ///
    /// - Throws: ``FileStorageError/notFound`` or the file system's error.
    public func delete(name: String) async throws {
        guard let path = try? path(of: name), try await Disk.status(path) != nil else {
            throw FileStorageError.notFound
        }
        try await Disk.remove([path, detailsPath(of: name)])
    }

    private var metadataFolder: String { directory + "/.metadata" }

    private func path(of name: String) throws -> String { directory + "/" + (try entry(of: name)) }

    private func entry(of name: String) throws -> String {
        let entry = PercentEncoding.encode(name)
        guard !entry.isEmpty, !entry.hasPrefix("."), entry.utf8.count <= Self.maximumEntryLength else {
            throw FileStorageError.unusableName
        }
        return entry
    }

    private func detailsPath(of name: String) throws -> String { metadataFolder + "/" + (try entry(of: name)) }

    private func writeUnfinished<Contents: AsyncSequence>(
        _ contents: Contents, in folder: String
    ) async throws -> String where Contents.Element == ByteBuffer {
        let unfinished = folder + "/" + Self.unfinished + Self.randomName()
        let file = try await NewDiskFile.create(unfinished)
        do {
            for try await chunk in contents { try await file.append(chunk) }
            try await file.synchronize()
            return unfinished
        } catch {
            await remove(unfinished)
            throw error
        }
    }

    private static func randomName() -> String { String(UInt64.random(in: 0...(.max)), radix: 16) }

    private static let unfinished = ".upload-"
    /// The prefix of temporary files that earlier versions created on some file systems.
    private static let nameless = ".tmp-"

    private func remove(_ unfinished: String) async {
        // Uses a separate task, because the caller's may be cancelled.
        await Task { try? await Disk.remove([unfinished]) }.value
    }

    /// Renames temporary files to their final names, the details first, so a failed rename leaves the file's bytes
    /// unchanged. Without new details, deletes the old ones last.
    ///
    /// - Parameter names: The paths of the file and its details.
    private func finish(_ unfinished: [String], as names: [String]) async throws {
        // Runs both renames even if the task is cancelled meanwhile.
        try await NIOThreadPool.singleton.runIfActive {
            for (path, name) in zip(unfinished, names).reversed() {
                guard rename(path, name) == 0 else { throw IOError(errnoCode: errno, reason: "rename") }
            }
            for name in names.dropFirst(unfinished.count) {
                guard unlink(name) == 0 || errno == ENOENT else { throw IOError(errnoCode: errno, reason: "unlink") }
            }
        }
    }

    /// Deletes temporary files older than a day, left behind by killed servers. Repeats daily until cancelled.
    public func tend() async {
        while !Task.isCancelled {
            for folder in [directory, metadataFolder] {
                // Another server may delete the same file. The next run retries failed deletions.
                try? await Disk.visit(folder) { name, status in
                    guard name.hasPrefix(Self.unfinished) || name.hasPrefix(Self.nameless),
                        status.modified.seconds < Int(time(nil)) - 86_400
                    else { return }
                    try await Disk.remove([folder + "/" + name])
                }
            }
            try? await Task.sleep(for: .seconds(86_400))
        }
    }

    /// Visits the files whose names begin with a prefix, in no particular order, without loading the whole list.
    ///
    /// - Throws: The errors of `use`, or the file system's error. A missing folder counts as empty.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        try await Disk.visit(directory) { name, status in
            // Skips temporary files and files that aren't uploads.
            guard !name.hasPrefix("."), let decoded = PercentEncoding.decode(name),
                decoded.utf8.starts(with: prefix.utf8)
            else { return }
            try await use(ListedFile(name: decoded, size: status.size, modified: status.modified))
        }
    }

    /// Returns the folder's random id, which all processes that use the folder share. Creates it if it doesn't exist.
    ///
    /// - Throws: The file system's error.
    public func mark() async throws -> String {
        let path = directory + "/.roost-folder"
        if let mark = try await mark(at: path) { return mark }
        let mark = Self.randomName()
        // The file gets its name only when complete. Where hard links are supported, the first of several writers wins.
        let unfinished = try await writeUnfinished(OneBuffer(buffer: ByteBuffer(string: mark)), in: directory)
        try await Disk.renameIfFree(unfinished, to: path)
        guard let mark = try await self.mark(at: path) else { throw IOError(errnoCode: ENOENT, reason: "mark") }
        return mark
    }

    private func mark(at path: String) async throws -> String? {
        try await Disk.contents(of: path, atMost: 4096).map { String(decoding: $0, as: UTF8.self) }
    }
}
