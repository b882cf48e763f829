import Crypto
import Encoding
import Foundation

/// One file of an export while it is written.
actor ExportFile {
    /// Its path below the folder.
    let path: String
    private let handle: FileHandle
    private var buffer: [UInt8] = []
    private var hash = SHA256()
    private(set) var size = 0

    private static let bufferSize = 1 << 18

    /// Makes a file that its owner alone can read.
    ///
    /// - Throws: `CommandFailure` when there is one already, as where a file system holds `Post` and `post` for the same name.
    init(_ path: String, in folder: String) throws {
        let descriptor = open(folder + "/" + path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CommandFailure("\(path) cannot be written: \(CommandFailure.reason())") }
        self.path = path
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Appends bytes.
    func append(_ bytes: some Sequence<UInt8> & Sendable) throws {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    private func flush() throws {
        hash.update(data: buffer)
        size += buffer.count
        try handle.write(contentsOf: buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Ends the file.
    ///
    /// - Returns: The line of `SHA256SUMS` for it.
    func finish() throws -> String {
        try flush()
        try handle.synchronize()
        try handle.close()
        let digest = hash.finalize().hexadecimal
        return "\(digest)  \(path)\n"
    }
}
