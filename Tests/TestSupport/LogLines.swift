public import Logging
import Synchronization

/// Records log lines of all levels, with their metadata, as texts.
public final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    public init() {}

    public var all: [String] { lines.withLock { $0 } }

    public var logger: Logger { Logger(label: "test", factory: { _ in Handler(lines: self) }) }

    fileprivate func add(_ line: String) { lines.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = metadata.merging(event.metadata ?? [:]) { $1 }.map { "\($0.key)=\($0.value)" }.sorted()
            let error = event.error.map { ["error=\($0)"] } ?? []
            lines.add((["\(event.level)", "\(event.message)"] + fields + error).joined(separator: " "))
        }
    }
}
