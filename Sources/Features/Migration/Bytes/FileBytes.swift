import Encoding
import Platform

/// The bytes of a file, or of several ranges of it.
///
/// The last read throws if the file was changed meanwhile, because the bytes may be inconsistent.
final class FileBytes: ByteSource {
    private let path: String
    private let descriptor: Int32
    private let version: FileVersion
    private var parts: ArraySlice<Range<Int64>>
    private(set) var bytesRead: Int64 = 0

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - parts: The byte ranges to read, or nil for the whole file.
    ///   - version: The expected version, or nil to accept the current one.
    /// - Throws: ``SourceDamage`` if the file can't be opened, isn't a regular file or has another version.
    init(_ path: String, parts: [Range<Int64>]? = nil, unchangedSince version: FileVersion? = nil) throws {
        self.path = path
        // Without O_NONBLOCK, opening a pipe would block.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw SourceDamage(place: path, reason: "\(SystemError())")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw SourceDamage(place: path, reason: "not a file")
        }
        let found = FileVersion(status)
        guard found == version ?? found else {
            close(descriptor)
            throw Self.changed(path)
        }
        self.version = found
        self.parts = (parts ?? [0..<Int64(status.st_size)])[...]
    }

    deinit { close(descriptor) }

    private static func changed(_ path: String) -> SourceDamage {
        SourceDamage(place: path, reason: "the file changed while being read. Import again when nothing writes to it")
    }

    func read(_ limit: Int) throws -> [UInt8] {
        while let part = parts.first, part.isEmpty { parts.removeFirst() }
        guard let part = parts.first else { return [] }
        let wanted = Int(min(Int64(limit), part.upperBound - part.lowerBound))
        var failure: Int32 = 0
        // `pread` writes directly into the new array.
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            let read = pread(descriptor, buffer.baseAddress, wanted, off_t(part.lowerBound))
            if read < 0 { failure = errno }
            count = max(0, read)
        }
        if failure != 0 { throw SourceDamage(place: path, reason: "\(SystemError(failure))") }
        guard !bytes.isEmpty else { throw Self.changed(path) }
        bytesRead += Int64(bytes.count)
        parts[parts.startIndex] = part.lowerBound + Int64(bytes.count)..<part.upperBound
        if parts.allSatisfy(\.isEmpty) { try checkVersion() }
        return bytes
    }

    private func checkVersion() throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0, FileVersion(status) == version else { throw Self.changed(path) }
    }
}

/// The size and modification time of a file, which show whether it was changed.
struct FileVersion: Sendable, Equatable {
    let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Reads the current version of a file. Throws ``SourceDamage`` if that fails.
    init(of path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw SourceDamage(place: path, reason: "\(SystemError())")
        }
        self.init(status)
    }

    init(_ status: stat) {
        size = Int64(status.st_size)
        #if canImport(Darwin)
            let changed = status.st_mtimespec
        #else
            let changed = status.st_mtim
        #endif
        seconds = Int(changed.tv_sec)
        nanoseconds = Int(changed.tv_nsec)
    }
}

/// Files with user data or password hashes. Only their owner can read newly created ones.
enum PrivateFile {
    /// Creates a file, or truncates an existing one, and opens it.
    ///
    /// Writes through links and devices such as `/dev/stdout` instead of replacing them.
    ///
    /// - Throws: ``SourceDamage`` if the file can't be opened.
    static func create(_ path: String) throws -> OpenFile {
        try open(path, O_CREAT | O_TRUNC)
    }

    /// Opens a file for writing. Throws ``SourceDamage`` if that fails.
    static func open(_ path: String, _ flags: Int32) throws -> OpenFile {
        do {
            return try OpenFile(path, flags | O_WRONLY | O_CLOEXEC, permissions: 0o600)
        } catch {
            throw SourceDamage(place: path, reason: "it can't be written: \(error)")
        }
    }

    /// Creates a folder for private files. Missing parent folders get default permissions, because the data folder is
    /// shared with PostgreSQL, which may run as another user.
    static func createFolder(_ path: String) throws {
        let parent = FilePaths.folder(of: path)
        if !parent.isEmpty {
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        }
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Writes to a file. Throws ``SourceDamage`` if that fails, for example because the disk is full.
    static func write(_ bytes: [UInt8], to file: OpenFile, _ path: String) throws {
        do {
            try file.write(bytes)
        } catch {
            throw SourceDamage(place: path, reason: "it can't be written: \(error)")
        }
    }
}
