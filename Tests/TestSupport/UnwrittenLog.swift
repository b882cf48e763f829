public import Logging

/// A handler that writes nothing, but lets every line of a level through to those who record them.
public struct UnwrittenLog: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var logLevel: Logger.Level = .info

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {}

    /// A logger with such a handler.
    public static func logger() -> Logger { Logger(label: "test", factory: { _ in UnwrittenLog() }) }
}
