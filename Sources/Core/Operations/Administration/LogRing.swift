import DequeModule
import Encoding
import JSON
import Logging
import Logs
import ParseModel
import Synchronization
public import Telemetry

/// A ring buffer of the latest log lines of level `info` and above, for `GET /scriptlog` and the console. Errors have a
/// second buffer, so that other lines don't evict them.
public final class LogRing: Sendable {
    package struct Line {
        /// The line's sequence number in this process, from 0.
        package let number: Int
        let moment: ParseDate
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata

        package var json: JSONObject {
            var object: JSONObject = [:]
            for (name, value) in metadata.sortedFields where !value.isEmpty {
                object[name] = LogFields.json(name, Self.cut(value))
            }
            // parse-server calls the request path `url`.
            object["url"] = object["path"]
            object["level"] = .string(level.parseName)
            object["message"] = .string(message)
            object["timestamp"] = .string(moment.iso)
            return object
        }

        /// Truncates a text of more than 1,000 bytes to its first 1,000 characters, like parse-server's cloud-code
        /// logs. Lines may quote client input, so they are truncated before they are stored.
        static func cut(_ text: String) -> String {
            text.truncated(to: 1000, "... (truncated)")
        }

        fileprivate static func cut(_ metadata: Logger.Metadata) -> Logger.Metadata {
            let isShort = metadata.values.allSatisfy { value in
                switch value {
                case .string(let text): text.utf8.count <= 1000
                default: value.isFields
                }
            }
            return isShort ? metadata : metadata.mapValues { .string(cut($0.description)) }
        }
    }

    private struct Lines {
        var all: Deque<Line> = []
        var errors: Deque<Line> = []
        /// The number of lines recorded so far.
        var count = 0
    }

    private let lines = Mutex(Lines())
    /// The maximum number of lines, and separately of errors.
    private static let capacity = 1000
    /// The id that log cursors use for this process's log.
    package let process = Identifiers.alphanumeric(8)
    private let meters: Counters<Meters.LogLevel>

    /// - Parameter meters: Counts the lines by level.
    public init(meters: Counters<Meters.LogLevel> = Counters()) { self.meters = meters }

    /// Returns a logger that also records its lines here.
    public func recording(_ logger: Logger) -> Logger {
        Logger(label: logger.label, factory: { _ in LogRingHandler(ring: self, next: logger.handler) })
    }

    fileprivate func count(_ level: Logger.Level) {
        switch level {
        case .trace, .debug: meters.add(.debug)
        case .info, .notice: meters.add(.info)
        case .warning: meters.add(.warn)
        case .error, .critical: meters.add(.error)
        }
    }

    func add(_ event: LogEvent, _ metadata: Logger.Metadata) {
        let own = event.metadata ?? metadata
        let (moment, message) = (ParseDate.now, Line.cut(event.message.description))
        let fields = Line.cut(metadata.isEmpty || event.metadata == nil ? own : metadata.merging(own) { $1 })
        // The evicted line is freed outside the lock, because all event loops take the lock for each request.
        _ = lines.withLock { lines in
            let line = Line(
                number: lines.count, moment: moment, level: event.level, message: message, metadata: fields)
            lines.count += 1
            let forgotten = lines.all.count == Self.capacity ? lines.all.popFirst() : nil
            lines.all.append(line)
            guard event.level >= .error else { return forgotten }
            if lines.errors.count == Self.capacity { lines.errors.removeFirst() }
            lines.errors.append(line)
            return forgotten
        }
    }

    /// The number of lines recorded so far.
    package var count: Int { lines.withLock { $0.count } }

    /// Returns the retained lines with at least this sequence number, oldest first.
    package func lines(from number: Int, onlyErrors: Bool) -> [Line] {
        let kept = lines.withLock { onlyErrors ? $0.errors : $0.all }
        return Array(kept.drop { $0.number < number })
    }

    /// Returns the retained lines of a time range, oldest first.
    func lines(onlyErrors: Bool, from: ParseDate, until: ParseDate) -> [Line] {
        let kept = lines.withLock { onlyErrors ? $0.errors : $0.all }
        return kept.filter { $0.moment >= from && $0.moment <= until }
    }
}

private struct LogRingHandler: LogHandler {
    let ring: LogRing
    var next: any LogHandler

    var logLevel: Logger.Level {
        get { next.logLevel }
        set { next.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { next.metadata }
        set { next.metadata = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { next.metadataProvider }
        set { next.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { next[metadataKey: key] }
        set { next[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        ring.count(event.level)
        if event.level >= .info { ring.add(event, next.metadata) }
        next.log(event: event)
    }
}
