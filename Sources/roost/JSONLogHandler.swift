import Foundation
import JSON
import Logging
import ParseModel

/// Log lines as JSON objects, one a line.
struct JSONLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let now = ParseDate(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        var line: JSONObject = [
            "timestamp": .string(now.iso), "level": .string("\(event.level)"), "message": .string("\(event.message)"),
        ]
        for (key, value) in metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 }) {
            line[key] = .string("\(value)")
        }
        FileHandle.standardError.write(Data(line.serialized() + [UInt8(ascii: "\n")]))
    }
}
