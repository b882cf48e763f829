import Foundation
import JSON
import Logging
import ParseModel

/// Log lines on the standard error, with the time in UTC: as text, or as JSON objects.
///
/// There is a line for each request. swift-log's own handler asks the system for the time zone at every line, and lets a
/// line break in what a client sent begin a new line.
struct LineLogHandler: LogHandler {
    enum Format {
        case text, json
    }

    let label: String
    let format: Format
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String, format: Format) {
        self.label = label
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let now = ParseDate.now.iso
        let fields = event.metadata.map { metadata.merging($0) { $1 } } ?? metadata
        let line = format == .text ? text(event, fields, now) : json(event, fields, now)
        // A full disk under the log must not stop the server.
        try? FileHandle.standardError.write(contentsOf: Data(line))
    }

    /// `<time> <level> <label>: <key>=<value> … <message>`
    private func text(_ event: LogEvent, _ fields: Logger.Metadata, _ now: String) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        func append(_ text: String) {
            for byte in text.utf8 { line.append(byte < 0x20 ? UInt8(ascii: " ") : byte) }
        }
        append(now)
        append(" ")
        append(event.level.rawValue)
        append(" ")
        append(label)
        append(": ")
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            append(key)
            append("=")
            append(value.description)
            append(" ")
        }
        append(event.message.description)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private func json(_ event: LogEvent, _ fields: Logger.Metadata, _ now: String) -> [UInt8] {
        var line: JSONObject = [
            "timestamp": .string(now), "level": .string(event.level.rawValue),
            "message": .string(event.message.description),
        ]
        for (key, value) in fields { line[key] = .string(value.description) }
        return JSONValue.object(line).serialized() + [UInt8(ascii: "\n")]
    }
}
