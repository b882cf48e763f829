public import Logging

extension Logger {
    /// Logs an event with a level named as in parse-server. Does nothing for `silent` and unknown names.
    ///
    /// - Parameter metadata: The fields of the line. Only evaluated if the line is written.
    public func event(_ level: String, _ message: Logger.Message, metadata: @autoclosure () -> Logger.Metadata) {
        guard let level = Self.level(ofEvent: level) else { return }
        log(level: level, message, metadata: metadata())
    }

    private static func level(ofEvent word: String) -> Logger.Level? {
        switch word {
        case "error": .error
        case "warn": .warning
        case "info": .info
        case "verbose", "debug": .debug
        case "silly": .trace
        default: nil
        }
    }
}
