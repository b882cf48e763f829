import NIOCore
import NIOPosix
import Platform

/// File-system operations. Async functions run on NIO's thread pool, because the system calls block. They throw
/// `IOError`, or Foundation's error for some operations on folders.
enum Disk {
    /// The size and modification time of a regular file.
    struct Status: Sendable {
        let size: Int64
        let modified: FileTime

        /// Returns nil unless the status describes a regular file.
        init?(_ status: stat) {
            guard status.st_mode & S_IFMT == S_IFREG else { return nil }
            #if canImport(Darwin)
                let time = status.st_mtimespec
            #else
                let time = status.st_mtim
            #endif
            size = Int64(status.st_size)
            modified = FileTime(seconds: Int(time.tv_sec), nanoseconds: Int(time.tv_nsec))
        }
    }

    /// Creates a folder and its parents with access for this user only.
    static func makeFolder(_ path: String) async throws {
        try await NIOThreadPool.singleton.runIfActive {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
    }

    /// Returns the status of a regular file, or nil if no regular file has this path.
    static func status(_ path: String) async throws -> Status? {
        try await NIOThreadPool.singleton.runIfActive {
            var status = stat()
            guard stat(path, &status) == 0 else {
                if errno == ENOENT || errno == ENOTDIR { return nil }
                throw IOError(errnoCode: errno, reason: "stat")
            }
            return Status(status)
        }
    }

    /// Opens a file or folder for reading on the current thread. Returns nil if it doesn't exist.
    static func descriptorNow(_ path: String, _ flags: Int32) throws -> Int32? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | flags)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw IOError(errnoCode: errno, reason: "open")
        }
        return descriptor
    }

    /// Returns the content of a small file, or nil if no regular file has this path. Throws beyond `limit` bytes.
    static func contents(of path: String, atMost limit: Int64) async throws -> [UInt8]? {
        guard let file = try await DiskFile.open(path) else { return nil }
        guard file.size <= limit else { throw IOError(errnoCode: EFBIG, reason: "read") }
        var bytes: [UInt8] = []
        try await file.give(0..<file.size) { bytes.append(contentsOf: $0.readableBytesView) }
        return bytes
    }

    /// Deletes files and ignores missing ones.
    static func remove(_ paths: [String]) async throws {
        try await NIOThreadPool.singleton.runIfActive {
            for path in paths where unlink(path) != 0 && errno != ENOENT {
                throw IOError(errnoCode: errno, reason: "unlink")
            }
        }
    }

    /// Renames a file, or deletes it if the new name exists. Replaces the existing file if hard links fail.
    static func renameIfFree(_ path: String, to name: String) async throws {
        try await NIOThreadPool.singleton.runIfActive {
            let result = link(path, name)
            let failure = errno
            if result != 0, failure != EEXIST {
                // Some network file systems don't support hard links.
                guard rename(path, name) == 0 else { throw IOError(errnoCode: errno, reason: "rename") }
            } else {
                unlink(path)
            }
        }
    }

    /// Flushes a folder's entries to disk, so that new and renamed files survive a crash.
    static func synchronizeFolder(_ path: String) async throws {
        try await NIOThreadPool.singleton.runIfActive {
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "open") }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw IOError(errnoCode: errno, reason: "fsync") }
        }
    }

    /// Visits the regular files of a folder in no particular order, on Linux without loading all names. A missing
    /// folder counts as empty.
    static func visit(_ folder: String, _ use: (_ name: String, Status) async throws -> Void) async throws {
        guard let entries = try await FolderEntries.open(folder) else { return }
        while let names = try await entries.next() {
            for name in names {
                // The file may have been deleted meanwhile.
                if let status = try await status(folder + "/" + name) { try await use(name, status) }
            }
        }
    }
}
