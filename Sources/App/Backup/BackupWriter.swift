import Crypto
import Encoding
import Platform

/// Writes a backup as a tar archive. Its last entry, `SHA256SUMS`, contains the checksums of all other files.
package final class BackupWriter {
    private let handle: OpenFile
    private var sums = ""
    private(set) var size = 0

    private static let pieceSize = 1 << 20
    /// The last entry of a complete archive.
    static let sumsPath = "SHA256SUMS"

    /// Creates the file, readable only by its owner.
    ///
    /// - Throws: `CommandFailure` if the file can't be created.
    package init(_ path: String) throws {
        let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CommandFailure("\(path) can't be written: \(SystemError())") }
        handle = OpenFile(descriptor)
    }

    private func write(_ bytes: [UInt8]) throws {
        try handle.write(bytes)
        size += bytes.count
    }

    package func addFolder(_ path: String) throws {
        try write(TarHeader(kind: .folder, path: path, size: 0, modified: 0).blocks)
    }

    package func add(_ path: String, _ bytes: [UInt8], modified: Int) throws {
        try write(TarHeader(kind: .file, path: path, size: bytes.count, modified: modified).blocks)
        try write(bytes + [UInt8](repeating: 0, count: TarHeader.padding(bytes.count)))
        sums += BackupSums.line(path, SHA256.hash(data: bytes))
    }

    /// Adds a file at its current size. Does nothing if it was deleted.
    ///
    /// - Throws: `CommandFailure` if the source isn't a readable file or shrinks, `CancellationError`, or write errors.
    func add(_ path: String, contentsOf source: String) throws {
        let descriptor = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return }
        guard descriptor >= 0 else { throw CommandFailure("\(source) can't be read: \(SystemError())") }
        let file = OpenFile(descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure("\(source) is not a file")
        }
        let size = Int(status.st_size)
        #if canImport(Darwin)
            let modified = Int(status.st_mtimespec.tv_sec)
        #else
            let modified = Int(status.st_mtim.tv_sec)
        #endif
        try write(TarHeader(kind: .file, path: path, size: size, modified: modified).blocks)
        var hash = SHA256()
        var left = size
        while left > 0 {
            try Task.checkCancellation()
            let piece = try file.read(min(left, Self.pieceSize))
            guard !piece.isEmpty else {
                throw CommandFailure("\(source) shrank while being read. Run the backup again")
            }
            hash.update(data: piece)
            try write(piece)
            left -= piece.count
        }
        try write([UInt8](repeating: 0, count: TarHeader.padding(size)))
        sums += BackupSums.line(path, hash.finalize())
    }

    /// Writes the checksums and the end of the archive, and syncs the file to disk.
    package func finish() throws {
        let bytes = Array(sums.utf8)
        try write(TarHeader(kind: .file, path: Self.sumsPath, size: bytes.count, modified: 0).blocks)
        try write(bytes + [UInt8](repeating: 0, count: TarHeader.padding(bytes.count) + 2 * TarHeader.blockSize))
        try handle.synchronize()
        try handle.close()
    }
}

/// Lines of `SHA256SUMS`, in the format of the program sha256sum.
enum BackupSums {
    static func line(_ path: String, _ digest: SHA256.Digest) -> String {
        digest.hexadecimal + "  \(path)\n"
    }
}
