import Encoding
import JSON

/// The file of what could not be kept exactly. It is made with its first line.
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

    /// Ends the file; returns its path; nil when there is nothing in it, and so no file.
    mutating func close() throws -> String? {
        if !lines.isEmpty { try flush() }
        guard let file else { return nil }
        // Not where it is a pipe or a device.
        try? file.synchronize()
        try file.close()
        return path
    }
}

enum RejectLine {
    /// Longer values, in bytes, are truncated.
    private static let longestValue = 1024 * 1024

    static func text(_ className: Name, id: String?, _ loss: Loss) -> String {
        text(className, id: id, field: loss.field, reason: loss.reason, value: loss.value)
    }

    static func text(_ className: Name, id: String?, field: String?, reason: String, value: JSONValue = .null) -> String
    {
        var value = value
        let bytes = value.serialized()
        if bytes.count > longestValue {
            value = .string(String(decoding: bytes.prefix(longestValue), as: UTF8.self) + "…")
        }
        let line: JSONObject = [
            "class": .string(className.text), "id": id.map { .string($0) } ?? .null,
            "field": field.map { .string($0) } ?? .null, "reason": .string(reason), "value": value,
        ]
        return line.text
    }
}

/// The end of an import that is to be exact, at the first object that cannot be.
package struct InexactObject: Error, CustomStringConvertible {
    /// The line that the file of rejects would have.
    package let line: String
    /// The message for the operator who imports.
    package var description: String { "stopped by --strict at a value that can't be imported exactly: \(line)" }
}

/// What of one object cannot be kept exactly.
struct Loss: Sendable {
    /// The field, with the path inside of it; nil for the whole object.
    var field: String?
    /// Why, in words.
    var reason: String
    var value: JSONValue
}

/// All that cannot be kept of one object.
struct Losses: Sendable {
    private(set) var list: [Loss] = []
    /// Whether a user has a Parse.com session token, which the report mentions once.
    var hasLegacySession = false

    /// Losses reported per object. A list may hold a million invalid values.
    private static let most = 1000
    /// Bytes written of a path.
    private static let longestPath = 1024

    /// Notes one. The last one that is written says that there are more.
    ///
    /// - Parameter field: The field, with the path inside of it.
    mutating func add(_ field: @autoclosure () -> String?, _ reason: String, _ value: JSONValue) {
        guard list.count < Self.most else {
            if list.count == Self.most {
                list.append(Loss(field: nil, reason: "more values that can't be imported exactly", value: .null))
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
