import Logging
import Logs
import ServerConfiguration

/// The output and the format of log lines.
package enum LogOutput {
    /// Returns the server's logger and its writer. The server's own lines contain no passwords, tokens or keys, because
    /// no code passes them to the logger.
    static func start(_ configuration: Configuration) -> (logger: Logger, writer: LogWriter) {
        let writer = LogWriter(format: configuration.jsonLogs ? .json : .text, isSilent: configuration.silent)
        LoggingSystem.bootstrap { label in LineLogHandler(label: label, writer: writer) }
        var logger = Logger(label: "roost")
        // The only other level of the configuration is `silent`.
        logger.logLevel = Logger.Level(parseName: configuration.logLevel) ?? .critical
        return (logger, writer)
    }

    /// A logger that reports only errors.
    package static var quiet: Logger {
        var logger = Logger(label: "roost.lifecycle")
        logger.logLevel = .error
        return logger
    }
}
