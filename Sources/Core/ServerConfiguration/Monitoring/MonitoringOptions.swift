import JSON

extension OptionTable {
    static let monitoring: [OptionDefinition] = [
        .custom(
            "metrics", "ROOST_METRICS", .object, \.metrics,
            "Serves /metrics, /live and /ready on port (default none). onMainPort also serves <mount>/metrics to callers "
                + "with the key",
            members: [
                .member("port", .number), .member("host", .string), .member("key", .string),
                .member("onMainPort", .boolean),
            ], variables: .init(prefix: "ROOST_METRICS")
        ) { value, _ throws(ConfigurationError) in try Configuration.Metrics(json: value) }
    ]
}

extension Configuration {
    /// The listener and the key for metrics.
    public struct Metrics: Sendable {
        /// The port of `/metrics`, `/live` and `/ready`, or nil to listen on no port.
        public var port: Int?
        /// The address to listen on.
        public var host = "127.0.0.1"
        /// The key that scrapers send, or nil if none is configured. Required for `onMainPort`. The metrics port
        /// doesn't check it if the port is reachable only from this machine.
        public var key: String?
        /// Whether the main port also serves `/metrics`, below the mount path.
        public var onMainPort = false

        /// Creates settings with metrics disabled.
        init() {}

        /// Whether metrics are served.
        public var isOn: Bool { port != nil || onMainPort }

        /// Whether the metrics port is reachable only from this machine.
        public var isLocal: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }

        /// - Throws: `ConfigurationError` for an invalid port, and for `onMainPort` without a key.
        init(json value: JSONValue) throws(ConfigurationError) {
            if let port = value["port"], !port.isNull { self.port = try port.whole(in: 0...65_535, "metrics.port") }
            host = value["host"]?.nonEmptyText ?? host
            key = value["key"]?.nonEmptyText
            onMainPort = value["onMainPort"]?.boolValue ?? false
            if onMainPort, key == nil {
                throw ConfigurationError("option metrics.onMainPort requires metrics.key, which scrapers send")
            }
        }
    }
}

extension OptionTable {
    static let eventLevels = OptionDefinition(
        "logLevels", "PARSE_SERVER_LOG_LEVELS", .object,
        "The level of each event: silent, error, warn, info, verbose, debug or silly",
        members: [
            .choice("triggerAfter", \.eventLevels.triggerAfter),
            .choice("triggerBeforeSuccess", \.eventLevels.triggerBeforeSuccess),
            .choice("triggerBeforeError", \.eventLevels.triggerBeforeError),
            .choice("cloudFunctionSuccess", \.eventLevels.cloudFunctionSuccess),
            .choice("cloudFunctionError", \.eventLevels.cloudFunctionError),
            .choice("signupUsernameTaken", \.eventLevels.signupUsernameTaken),
        ], variables: .init(prefix: "PARSE_SERVER_LOG_LEVELS"))
}

extension Configuration {
    /// The log levels of events in cloud code and sign-up.
    public struct EventLevels: Sendable {
        /// A level, by parse-server's name.
        public enum Level: String, CaseIterable, Sendable {
            case silent, error, warn, info, verbose, debug, silly
        }

        /// The log level of after triggers that succeeded.
        public var triggerAfter = Level.info
        /// The log level of before triggers that allowed the operation.
        public var triggerBeforeSuccess = Level.info
        /// The log level of triggers that rejected the operation or failed, except `afterSave`.
        public var triggerBeforeError = Level.error
        /// The log level of functions that succeeded.
        public var cloudFunctionSuccess = Level.info
        /// The log level of functions that failed.
        public var cloudFunctionError = Level.error
        /// The log level of sign-ups rejected because the user name is taken.
        public var signupUsernameTaken = Level.info

        /// Creates parse-server's default levels.
        public init() {}
    }
}
