import JSON
import Logging
import ParseModel

/// Passes log lines to the writer of the process.
///
/// swift-log's own handler would block the logging thread, look up the time zone for every line, and let line breaks in
/// client data start a new line. Roost logs a line per request.
package struct LineLogHandler: LogHandler {
    package let label: String
    package let writer: LogWriter
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .info

    package init(label: String, writer: LogWriter) {
        self.label = label
        self.writer = writer
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var fields = event.metadata ?? metadata
        if event.metadata != nil, !metadata.isEmpty { fields = metadata.merging(fields) { $1 } }
        writer.add(
            LogLine(moment: .now, level: event.level, label: label, message: event.message, metadata: fields))
    }
}

/// A log line before formatting.
package struct LogLine: Sendable {
    package enum Format {
        case text, json
    }

    package var moment: ParseDate
    package let level: Logger.Level
    package let label: String
    package let message: Logger.Message
    package let metadata: Logger.Metadata

    package init(
        moment: ParseDate, level: Logger.Level, label: String, message: Logger.Message, metadata: Logger.Metadata
    ) {
        self.moment = moment
        self.level = level
        self.label = label
        self.message = message
        self.metadata = metadata
    }

    /// Appends the formatted line, with the time in UTC.
    package func write(as format: Format, to output: inout [UInt8]) {
        switch format {
        case .text: writeText(to: &output)
        case .json: writeJSON(to: &output)
        }
        output.append(UInt8(ascii: "\n"))
    }

    /// Writes `<time> <level> <label>: <message> <name>=<value> …`. Empty values are left out, and values with blanks are
    /// quoted.
    private func writeText(to output: inout [UInt8]) {
        let start = output.count
        output += moment.iso.utf8
        output.append(UInt8(ascii: " "))
        output += level.rawValue.utf8
        output.append(UInt8(ascii: " "))
        output += label.utf8
        output.append(UInt8(ascii: ":"))
        output.append(UInt8(ascii: " "))
        output += message.description.utf8
        for (name, value) in metadata.sortedFields where !value.isEmpty {
            output.append(UInt8(ascii: " "))
            output += name.utf8
            output.append(UInt8(ascii: "="))
            let isQuoted = value.utf8.contains { $0 <= 0x20 || $0 == UInt8(ascii: "\"") }
            output += (isQuoted ? JSONValue.string(value).text : value).utf8
        }
        guard output[start...].contains(where: { !(0x20..<0x7F).contains($0) }) else { return }
        // A control character could start a new line or control the terminal.
        for index in start..<output.count {
            let byte = output[index]
            if (0x20..<0x7F).contains(byte) { continue }
            if byte < 0x20 || byte == 0x7F { output[index] = UInt8(ascii: " ") }
            // Replaces the two-byte characters U+0080 to U+009F with a no-break space, which also has two bytes.
            if (0x80..<0xA0).contains(byte), output[index - 1] == 0xC2 { output[index] = 0xA0 }
        }
    }

    private func writeJSON(to output: inout [UInt8]) {
        var line: JSONObject = [
            "timestamp": .string(moment.iso), "level": .string(level.parseName),
            "message": .string(message.description),
        ]
        // Log fields must not replace the timestamp, the level or the message.
        for (name, value) in metadata.sortedFields {
            line[line[name] == nil ? name : "\(name)_"] = LogFields.json(name, value)
        }
        output += JSONValue.object(line).serialized()
    }
}
