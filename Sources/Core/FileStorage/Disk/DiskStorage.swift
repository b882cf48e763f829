import Encoding
public import NIOCore
import NIOPosix

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Uploaded files in a folder on disk, laid out as parse-server's file-system adapter does: one folder, each file named
/// by its percent-encoded name. What a client says about a file (metadata, tags, a type that the name does not imply)
/// lies beside it in the subfolder `.metadata`.
///
/// No name reaches outside the folder: percent-encoding leaves no slash in it, and names that begin with a dot are
/// refused, so that `.`, `..`, the subfolder and unfinished uploads are never files.
public struct DiskStorage: FileStorage {
    /// The folder that holds the files.
    public let directory: String

    /// Entry name limit of common file systems, in bytes.
    private static let maximumEntryLength = 255

    /// A store in a folder; the folder is made when it is first needed.
    public init(directory: String) {
        self.directory = directory
    }

    /// Makes the folders.
    ///
    /// - Throws: The file system's error when that is not possible.
    public func prepare() async throws {
        try await Disk.makeFolder(metadataFolder)
    }

    /// Stores a file, replacing one of the same name. The file is visible only when all of it is on the disk.
    ///
    /// - Parameters:
    ///   - name: The name under which it is found again.
    ///   - details: What the client says about it.
    ///   - contents: The bytes. When the sequence throws, nothing is stored.
    /// - Throws: ``FileStorageError/unusableName``, the sequence's error, or the file system's.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails = FileDetails(), contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        let (path, detailsPath) = (try path(of: name), try detailsPath(of: name))
        try await prepare()
        var unfinished = [try await writeUnfinished(contents, in: directory)]
        do {
            if !details.isEmpty {
                let bytes = OneBuffer(bytes: details.serialized())
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
    /// - Parameter name: The name under which it was stored.
    /// - Returns: The file, or nil if there is none.
    /// - Throws: `IOError` when the system refuses.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard let path = try? path(of: name) else { return nil }
        return try await DiskFile.open(path)
    }

    /// What the client said about a file when it was stored; empty details if it said nothing.
    ///
    /// - Throws: The file system's error.
    public func details(name: String) async throws -> FileDetails {
        guard let path = try? detailsPath(of: name),
            let bytes = try await Disk.contents(of: path, atMost: 4 * 1024 * 1024)
        else { return FileDetails() }
        return FileDetails(parsing: bytes)
    }

    /// Removes a file and what was said about it.
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

    /// A file's entry in its folder: one path component, never hidden.
    private func entry(of name: String) throws -> String {
        let entry = PercentEncoding.encode(name)
        guard !entry.isEmpty, !entry.hasPrefix("."), entry.utf8.count <= Self.maximumEntryLength else {
            throw FileStorageError.unusableName
        }
        return entry
    }

    private func detailsPath(of name: String) throws -> String { metadataFolder + "/" + (try entry(of: name)) }

    /// Writes to a temporary file, syncs it, and returns its path.
    private func writeUnfinished<Contents: AsyncSequence>(
        _ contents: Contents, in folder: String
    ) async throws -> String where Contents.Element == ByteBuffer {
        let unfinished = folder + "/" + Self.unfinished + UUID().uuidString
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

    private static let unfinished = ".upload-"
    /// Prefix of temporary file names, for file systems without unnamed files.
    private static let nameless = ".tmp-"

    private func remove(_ unfinished: String) async {
        // A task of its own: the caller's may have been cancelled.
        await Task { try? await Disk.remove([unfinished]) }.value
    }

    /// Renames a file and its details into place. Readers see the old file or the new one. The details come first, so
    /// that a failure leaves the file unchanged.
    ///
    /// - Parameter names: The file's name and its details' name. Old details are removed if there are no new ones.
    private func finish(_ unfinished: [String], as names: [String]) async throws {
        // Both or none, also when the task is cancelled meanwhile.
        try await NIOThreadPool.singleton.runIfActive {
            for (path, name) in zip(unfinished, names).reversed() {
                guard rename(path, name) == 0 else { throw IOError(errnoCode: errno, reason: "rename") }
            }
            for name in names.dropFirst(unfinished.count) {
                guard unlink(name) == 0 || errno == ENOENT else { throw IOError(errnoCode: errno, reason: "unlink") }
            }
        }
    }

    /// Removes once a day what a server that was killed had not finished a day ago, until the task is cancelled.
    public func tend() async {
        while !Task.isCancelled {
            await removeUnfinished()
            try? await Task.sleep(for: .seconds(86_400))
        }
    }

    private func removeUnfinished() async {
        for folder in [directory, metadataFolder] {
            // Another server may remove the same file. What is left is removed the next time.
            try? await Disk.visit(folder) { name, status in
                guard name.hasPrefix(Self.unfinished) || name.hasPrefix(Self.nameless),
                    status.modified.seconds < Int(Date.now.timeIntervalSince1970) - 86_400
                else { return }
                try await Disk.remove([folder + "/" + name])
            }
        }
    }
}

extension DiskStorage {
    /// Gives the files whose names begin with a text, in no order, without holding them all.
    ///
    /// - Throws: What `use` throws, or the file system's error. Where there is no folder, there are no files.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        try await Disk.visit(directory) { name, status in
            // Unfinished uploads and files that aren't uploads.
            guard !name.hasPrefix("."), let decoded = PercentEncoding.decode(name),
                decoded.utf8.starts(with: prefix.utf8)
            else { return }
            try await use(ListedFile(name: decoded, size: status.size, modified: status.modified))
        }
    }
}

extension DiskStorage {
    /// What distinguishes the folder from others: random, and the same for all processes that share it.
    ///
    /// - Throws: The file system's error.
    public func mark() async throws -> String {
        let path = directory + "/.roost-folder"
        if let mark = try await mark(at: path) { return mark }
        let mark = String(UInt64.random(in: 0...(.max)), radix: 16)
        // The file gets its name only when complete. If several processes write it, the first one wins.
        let unfinished = try await writeUnfinished(OneBuffer(bytes: Array(mark.utf8)), in: directory)
        try await Disk.renameIfFree(unfinished, to: path)
        guard let mark = try await self.mark(at: path) else { throw IOError(errnoCode: ENOENT, reason: "mark") }
        return mark
    }

    private func mark(at path: String) async throws -> String? {
        try await Disk.contents(of: path, atMost: 4096).map { String(decoding: $0, as: UTF8.self) }
    }
}
