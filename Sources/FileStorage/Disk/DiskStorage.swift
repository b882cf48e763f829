import Encoding
import Foundation
public import NIOCore
import NIOPosix
import _NIOFileSystem

/// Uploaded files in a folder on disk, laid out as parse-server's file-system adapter does: one folder, each file named
/// by its percent-encoded name. What a client says about a file (metadata, tags, a type that the name does not imply)
/// lies beside it in the subfolder `.metadata`.
///
/// No name reaches outside the folder: percent-encoding leaves no slash in it, and names that begin with a dot are
/// refused, so that `.`, `..`, the subfolder and unfinished uploads are never files.
public struct DiskStorage: FileStorage {
    /// The folder that holds the files.
    public let directory: String

    private let fileSystem = FileSystem.shared

    /// The longest name of a folder entry on the usual file systems.
    private static let maximumEntryLength = 255

    /// A store in a folder; the folder is made when it is first needed.
    public init(directory: String) {
        self.directory = directory
    }

    /// Makes the folders.
    ///
    /// - Throws: The file system's error when that is not possible.
    public func prepare() async throws {
        try await fileSystem.createDirectory(
            at: metadataFolder, withIntermediateDirectories: true, permissions: .ownerReadWriteExecute)
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
        var unfinished = [try await writeUnfinished(contents, in: FilePath(directory))]
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
        for folder in [FilePath(directory), metadataFolder].prefix(unfinished.count) {
            try await fileSystem.withDirectoryHandle(atPath: folder) { try await $0.synchronize() }
        }
    }

    /// Opens a file for reading.
    ///
    /// - Parameter name: The name under which it was stored.
    /// - Returns: The file, or nil if there is none.
    /// - Throws: `IOError` when the system refuses.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard let path = try? path(of: name) else { return nil }
        return try await DiskFile.open(path.string)
    }

    /// What the client said about a file when it was stored; empty details if it said nothing.
    ///
    /// - Throws: The file system's error.
    public func details(name: String) async throws -> FileDetails {
        guard let path = try? detailsPath(of: name),
            let info = try await fileSystem.info(forFileAt: path), info.type == .regular
        else { return FileDetails() }
        let bytes = try await ByteBuffer(contentsOf: path, maximumSizeAllowed: .mebibytes(4))
        return FileDetails(parsing: Array(bytes.readableBytesView))
    }

    /// Removes a file and what was said about it.
    ///
    /// - Throws: ``FileStorageError/notFound`` or the file system's error.
    public func delete(name: String) async throws {
        guard let path = try? path(of: name), try await fileSystem.info(forFileAt: path)?.type == .regular else {
            throw FileStorageError.notFound
        }
        try await fileSystem.removeItem(at: path, strategy: .sequential)
        try await fileSystem.removeItem(at: detailsPath(of: name), strategy: .sequential)
    }

    private var metadataFolder: FilePath {
        FilePath(directory).appending(".metadata")
    }

    private func path(of name: String) throws -> FilePath {
        FilePath(directory).appending(try entry(of: name))
    }

    /// The name of a file's entry in its folder: one component, never a hidden one.
    private func entry(of name: String) throws -> String {
        let entry = PercentEncoding.encode(name)
        guard !entry.isEmpty, !entry.hasPrefix("."), entry.utf8.count <= Self.maximumEntryLength else {
            throw FileStorageError.unusableName
        }
        return entry
    }

    private func detailsPath(of name: String) throws -> FilePath {
        metadataFolder.appending(try entry(of: name))
    }

    /// Writes to a file of another name in a folder, and waits for the disk; returns where it is.
    private func writeUnfinished<Contents: AsyncSequence>(
        _ contents: Contents, in folder: FilePath
    ) async throws -> FilePath where Contents.Element == ByteBuffer {
        let options = OpenOptions.Write.newFile(replaceExisting: false, permissions: [.ownerReadWrite, .groupRead])
        let unfinished = folder.appending(Self.unfinished + UUID().uuidString)
        let handle = try await fileSystem.openFile(forWritingAt: unfinished, options: options)
        var size: Int64 = 0
        do {
            do {
                for try await chunk in contents {
                    size += try await handle.write(contentsOf: chunk.readableBytesView, toAbsoluteOffset: size)
                }
                try await handle.synchronize()
            } catch {
                try? await evenIfCancelled { try await handle.close(makeChangesVisible: false) }
                throw error
            }
            try await evenIfCancelled { try await handle.close() }
            return unfinished
        } catch {
            await remove(unfinished)
            throw error
        }
    }

    /// What names of files begin with that are being written.
    private static let unfinished = ".upload-"
    /// What the names of files begin with that have no other yet, where the file system knows no files without names.
    private static let nameless = ".tmp-"

    private func remove(_ unfinished: FilePath) async {
        try? await evenIfCancelled { _ = try await fileSystem.removeItem(at: unfinished) }
    }

    /// Gives a file and its details their names, at one moment: readers get the old file or the new one. The details come
    /// first: where they cannot be had, the file stays as it was.
    ///
    /// - Parameter names: That of the file, and that of its details, which are removed where there are no new ones.
    private func finish(_ unfinished: [FilePath], as names: [FilePath]) async throws {
        // Both or none, also when the task is cancelled meanwhile.
        try await NIOThreadPool.singleton.runIfActive {
            for (path, name) in zip(unfinished, names).reversed() {
                guard rename(path.string, name.string) == 0 else { throw CocoaError(.fileWriteUnknown) }
            }
            for name in names.dropFirst(unfinished.count) {
                guard unlink(name.string) == 0 || errno == ENOENT else { throw CocoaError(.fileWriteUnknown) }
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
        for folder in [FilePath(directory), metadataFolder] {
            // Another server may remove the same; what is left is removed the next time.
            try? await fileSystem.withDirectoryHandle(atPath: folder) { entries in
                for try await entry in entries.listContents() {
                    let name = entry.name.string
                    guard name.hasPrefix(Self.unfinished) || name.hasPrefix(Self.nameless) else { continue }
                    let time = try await fileSystem.info(forFileAt: entry.path)?.lastDataModificationTime.seconds
                    guard let time, Int(time) < Int(Date.now.timeIntervalSince1970) - 86_400 else { continue }
                    _ = try await fileSystem.removeItem(at: entry.path)
                }
            }
        }
    }

    /// Runs what must not be left out when the current task was cancelled: a file left open would stay open.
    private func evenIfCancelled(_ operation: @escaping @Sendable () async throws -> Void) async throws {
        try await Task { try await operation() }.value
    }
}

extension DiskStorage {
    /// Gives the files whose names begin with a text, in no order, without holding them all.
    ///
    /// - Throws: What `use` throws, or the file system's error. Where there is no folder, there are no files.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        let path = FilePath(directory)
        guard try await FileSystem.shared.info(forFileAt: path)?.type == .directory else { return }
        let folder = try await FileSystem.shared.openDirectory(atPath: path)
        do {
            // Some file systems do not say here what an entry is.
            for try await entry in folder.listContents() where [FileType.regular, .unknown].contains(entry.type) {
                let name = entry.name.string
                // Unfinished uploads and what is not one of ours.
                guard !name.hasPrefix("."), let decoded = PercentEncoding.decode(name),
                    decoded.utf8.starts(with: prefix.utf8),
                    let info = try await FileSystem.shared.info(forFileAt: entry.path), info.type == .regular
                else { continue }
                let time = info.lastDataModificationTime
                let modified = FileTime(seconds: Int(time.seconds), nanoseconds: Int(time.nanoseconds))
                try await use(ListedFile(name: decoded, size: info.size, modified: modified))
            }
        } catch {
            try? await folder.close()
            throw error
        }
        try await folder.close()
    }
}

extension DiskStorage {
    /// What distinguishes the folder from others: random, and the same for all processes that share it.
    ///
    /// - Throws: The file system's error.
    public func mark() async throws -> String {
        let path = FilePath(directory).appending(".roost-folder")
        if let mark = try await mark(at: path) { return mark }
        let mark = String(UInt64.random(in: 0...(.max)), radix: 16)
        do {
            try await fileSystem.withFileHandle(
                forWritingAt: path,
                options: .newFile(replaceExisting: false, permissions: [.ownerReadWrite, .groupRead])
            ) { _ = try await $0.write(contentsOf: Array(mark.utf8), toAbsoluteOffset: 0) }
        } catch {
            // Another process made it at the same time: it has its name only once it is whole.
            guard let mark = try await self.mark(at: path) else { throw error }
            return mark
        }
        return mark
    }

    private func mark(at path: FilePath) async throws -> String? {
        guard try await fileSystem.info(forFileAt: path)?.type == .regular else { return nil }
        let bytes = try await ByteBuffer(contentsOf: path, maximumSizeAllowed: .kibibytes(4))
        return String(decoding: bytes.readableBytesView, as: UTF8.self)
    }
}
