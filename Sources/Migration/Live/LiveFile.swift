import Foundation
import JSON

/// A file of an export while it is written. It gets its name when it is whole.
struct LiveFile {
    private let path: String
    private let file: FileHandle
    private var buffer = Array("{\"results\":[".utf8)
    private var isFirst = true

    init(_ path: String) throws {
        self.path = path
        file = try PrivateFile.create(path + ".part")
    }

    /// Adds an object.
    mutating func add(_ object: JSONObject) throws {
        buffer += Array((isFirst ? "\n" : ",\n").utf8) + object.serialized()
        isFirst = false
        if buffer.count > 256 * 1024 { try flush() }
    }

    private mutating func flush() throws {
        try PrivateFile.write(buffer, to: file, path)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Ends the file, and gives it its name.
    mutating func close() throws {
        buffer += Array("\n]}\n".utf8)
        try flush()
        try file.close()
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: path + ".part", toPath: path)
    }

    /// Reads a file that was written.
    static func reader(_ path: String) throws -> JSONRecordReader {
        JSONRecordReader(ByteReader(try FileBytes(path), of: path))
    }
}
