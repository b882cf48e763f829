import Backend
import Logging
import ParseModel

/// Hands log lines to the writer of the process.
///
/// There is a line for each request. swift-log's own handler writes on the thread that logs, asks the system for the time
/// zone at every line, and lets a line break in what a client sent begin a new line.
struct LineLogHandler: LogHandler {
    let label: String
    let writer: LogWriter
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String, writer: LogWriter) {
        self.label = label
        self.writer = writer
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = event.metadata ?? metadata
        if event.metadata != nil, !metadata.isEmpty { fields = metadata.merging(fields) { $1 } }
        writer.add(
            LogLine(moment: .now, level: event.level, label: label, message: event.message, metadata: fields))
    }
}
