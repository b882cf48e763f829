import Encoding

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

/// The bytes of a file, or of parts of it, one part after the other.
///
/// A file that others write to meanwhile is noticed at the end: what was read of it may be of no moment at all.
final class FileBytes: ByteSource {
    private let path: String
    private let descriptor: Int32
    private let version: FileVersion
    private var parts: ArraySlice<Range<Int64>>
    private(set) var bytesRead: Int64 = 0

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - parts: Where the bytes lie; the whole file if nothing is said.
    ///   - version: The file as it must still be; as it is now if nothing is said.
    /// - Throws: ``SourceDamage`` when it cannot be opened, is no file, or is another than it was.
    init(_ path: String, parts: [Range<Int64>]? = nil, unchangedSince version: FileVersion? = nil) throws {
        self.path = path
        // Without O_NONBLOCK a pipe of that name would be waited for.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw SourceDamage(place: path, reason: String(cString: strerror(errno)))
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

    func read(_ most: Int) throws -> [UInt8] {
        while let part = parts.first, part.isEmpty { parts.removeFirst() }
        guard let part = parts.first else { return [] }
        let wanted = Int(min(Int64(most), part.upperBound - part.lowerBound))
        var failure: Int32 = 0
        // The system writes to an address: the array's own, of which no more is taken than was written.
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            let read = pread(descriptor, buffer.baseAddress, wanted, off_t(part.lowerBound))
            if read < 0 { failure = errno }
            count = max(0, read)
        }
        if failure != 0 { throw SourceDamage(place: path, reason: String(cString: strerror(failure))) }
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

/// What changes of a file once something was written to it: its size, and when that was.
struct FileVersion: Sendable, Equatable {
    let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// The version of a file as it is now; throws ``SourceDamage`` when it cannot be looked at.
    init(of path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw SourceDamage(place: path, reason: String(cString: strerror(errno)))
        }
        self.init(status)
    }

    /// What the system says of a file.
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

/// Files that hold what users wrote, or hashes of passwords: only their owner reads them.
enum PrivateFile {
    /// Makes a file, or empties one that is there, and opens it.
    ///
    /// What is no file, such as a link or `/dev/stdout`, stays what it is.
    /// - Throws: ``SourceDamage``.
    static func create(_ path: String) throws -> OpenFile {
        try open(path, O_CREAT | O_TRUNC)
    }

    /// Opens a file that is there, for writing; throws ``SourceDamage``.
    static func open(_ path: String) throws -> OpenFile { try open(path, 0) }

    private static func open(_ path: String, _ flags: Int32) throws -> OpenFile {
        do {
            return try OpenFile(path, flags | O_WRONLY | O_CLOEXEC, permissions: 0o600)
        } catch {
            throw SourceDamage(place: path, reason: "it can't be written: \(error)")
        }
    }

    /// Makes a folder for such files. Those around it, which may be missing too, are as the system makes folders: the data
    /// folder is PostgreSQL's as well, which may run as another user.
    static func createFolder(_ path: String) throws {
        let parent = FilePaths.folder(of: path)
        if !parent.isEmpty {
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        }
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Writes to a file; throws ``SourceDamage``, also when the disk is full.
    static func write(_ bytes: [UInt8], to file: OpenFile, _ path: String) throws {
        do {
            try file.write(bytes)
        } catch {
            throw SourceDamage(place: path, reason: "it can't be written: \(error)")
        }
    }
}
