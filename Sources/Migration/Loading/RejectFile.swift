import Foundation

/// The file that tells what could not be kept exactly. It is made with its first line.
struct RejectFile {
    private let path: String
    private var file: FileHandle?
    private var lines: [UInt8] = []

    init(_ path: String) { self.path = path }

    mutating func add(_ line: String) throws {
        lines += line.utf8
        lines.append(UInt8(ascii: "\n"))
        if lines.count > 256 * 1024 { try flush() }
    }

    private mutating func flush() throws {
        let opened = try file ?? PrivateFile.create(path)
        file = opened
        try PrivateFile.write(lines, to: opened, path)
        lines.removeAll()
    }

    /// Ends the file.
    ///
    /// - Returns: Its path; nil when there is nothing in it, and so no file.
    mutating func close() throws -> String? {
        if !lines.isEmpty { try flush() }
        guard let file else { return nil }
        // Not where it is a pipe or a device.
        try? file.synchronize()
        try file.close()
        return path
    }
}
