public import Logging

/// A log handler that discards lines, so that only recorders of log lines receive them.
public struct UnwrittenLog: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var logLevel: Logger.Level = .info

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {}

    public static func logger() -> Logger { Logger(label: "test", factory: { _ in UnwrittenLog() }) }
}
