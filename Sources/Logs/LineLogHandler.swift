import Logging
import ParseModel

/// Hands log lines to the writer of the process.
///
/// There is a line for each request. swift-log's own handler writes on the thread that logs, asks the system for the time
/// zone at every line, and lets a line break in what a client sent begin a new line.
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
