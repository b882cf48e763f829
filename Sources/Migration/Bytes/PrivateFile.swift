import Foundation

/// Files that hold what users wrote, or hashes of passwords: only their owner reads them.
enum PrivateFile {
    /// Makes a file, or empties one that is there, and opens it.
    ///
    /// What is no file, such as a link or `/dev/stdout`, stays what it is.
    /// - Throws: ``SourceDamage``.
    static func create(_ path: String) throws -> FileHandle {
        let descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw SourceDamage(place: path, reason: "it cannot be written: \(String(cString: strerror(errno)))")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Makes a folder for such files. Those around it, which may be missing too, are as the system makes folders: the data
    /// folder is PostgreSQL's as well, which may run as another user.
    static func createFolder(_ path: String) throws {
        let parent = (path as NSString).deletingLastPathComponent
        if !parent.isEmpty {
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        }
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Writes to a file.
    ///
    /// - Throws: ``SourceDamage``, also when the disk is full.
    static func write(_ bytes: some DataProtocol, to file: FileHandle, _ path: String) throws {
        do {
            try file.write(contentsOf: bytes)
        } catch {
            throw SourceDamage(place: path, reason: "it cannot be written: \(error.localizedDescription)")
        }
    }
}
