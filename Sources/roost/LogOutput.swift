import Foundation
import Logging
import ServerConfiguration

/// Where log lines go, and in which form.
enum LogOutput {
    /// The server's logger; it never sees passwords, tokens or keys, because nobody hands them to it.
    static func logger(_ configuration: Configuration) -> Logger {
        let format = configuration.jsonLogs ? LineLogHandler.Format.json : .text
        LoggingSystem.bootstrap { label in LineLogHandler(label: label, format: format) }
        var logger = Logger(label: "roost")
        logger.logLevel = level(configuration.logLevel)
        return logger
    }

    /// For parts whose news nobody needs.
    static var quiet: Logger {
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
        default: .info
        }
    }
}
