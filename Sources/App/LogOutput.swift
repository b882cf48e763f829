import Logging
import Logs
import ServerConfiguration

/// Where log lines go, and in which form.
package enum LogOutput {
    /// The server's logger, and what writes its lines. It never sees passwords, tokens or keys, because no code hands
    /// them to it.
    static func start(_ configuration: Configuration) -> (logger: Logger, writer: LogWriter) {
        let writer = LogWriter(format: configuration.jsonLogs ? .json : .text, isSilent: configuration.silent)
        LoggingSystem.bootstrap { label in LineLogHandler(label: label, writer: writer) }
        var logger = Logger(label: "roost")
        logger.logLevel = level(configuration.logLevel)
        return (logger, writer)
    }

    /// For parts whose news are not needed.
    package static var quiet: Logger {
        var logger = Logger(label: "roost.lifecycle")
        logger.logLevel = .error
        return logger
    }

    private static func level(_ name: String) -> Logger.Level {
        switch name {
        case "error": .error
        case "warn": .warning
        case "debug", "verbose": .debug
        case "silly": .trace
        case "silent": .critical
        default: .info  // "info": the configuration has no other.
        }
    }
}
