import Encoding
import JSON

/// The rejects file, which lists everything that couldn't be imported exactly. Not created if the list is empty.
struct RejectFile {
    private let path: String
    private var file: OpenFile?
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

    /// Completes the file and returns its path, or nil if nothing was written.
    mutating func close() throws -> String? {
        if !lines.isEmpty { try flush() }
        guard let file else { return nil }
        // Fails for a pipe or device, which doesn't matter.
        try? file.synchronize()
        try file.close()
        return path
    }
}

enum RejectLine {
    /// The maximum size of a value in bytes. Larger values are truncated.
    private static let longestValue = 1024 * 1024

    static func text(_ className: Name, id: String?, _ loss: Loss) -> String {
        var value = loss.value
        let bytes = value.serialized()
        if bytes.count > longestValue {
            value = .string(String(decoding: bytes.prefix(longestValue), as: UTF8.self) + "…")
        }
        let line: JSONObject = [
            "class": .string(className.text), "id": id.map { .string($0) } ?? .null,
            "field": loss.field.map { .string($0) } ?? .null, "reason": .string(loss.reason), "value": value,
        ]
        return line.text
    }
}

/// The error that ends the strict import of a class at the first object or index that can't be imported exactly.
struct InexactObject: Error, CustomStringConvertible {
    /// The line for the rejects file.
    let line: String
    var description: String { "stopped by --strict at a value that can't be imported exactly: \(line)" }
}

/// A part of an object that can't be imported exactly.
struct Loss: Sendable {
    /// The field with the path inside it, or nil for the whole object.
    var field: String?
    var reason: String
    var value: JSONValue = .null
}

/// The losses of one object, up to a maximum.
struct Losses: Sendable {
    private(set) var list: [Loss] = []
    /// Whether a user has a Parse.com session token, which the report mentions only once.
    var hasLegacySession = false

    /// The maximum number of losses per object, because an array may contain a million invalid values.
    private static let maxLosses = 1000
    /// The maximum length of a path in bytes.
    private static let longestPath = 1024

    /// Adds a loss. The first loss above the limit is replaced by a note that there are more.
    ///
    /// - Parameter field: The field with the path inside it.
    mutating func add(_ field: @autoclosure () -> String?, _ reason: String, _ value: JSONValue) {
        guard list.count < Self.maxLosses else {
            if list.count == Self.maxLosses {
                list.append(Loss(reason: "more values that can't be imported exactly"))
            }
            return
        }
        list.append(Loss(field: field().map(Self.shortened), reason: reason, value: value))
    }

    private static func shortened(_ path: String) -> String {
        guard path.utf8.count > longestPath else { return path }
        return String(decoding: path.utf8.prefix(longestPath), as: UTF8.self) + "…"
    }
}
