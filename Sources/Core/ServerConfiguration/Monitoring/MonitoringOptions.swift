import JSON

extension OptionTable {
    static let monitoring: [OptionDefinition] = [
        .custom(
            "metrics", "ROOST_METRICS", .object, \.metrics,
            "/metrics, /live and /ready on a port of their own (port, host; default none), and with onMainPort "
                + "<mount>/metrics for callers with the key",
            members: [
                .member("port", .number), .member("host", .string), .member("key", .string),
                .member("onMainPort", .boolean),
            ], variables: .init(prefix: "ROOST_METRICS")
        ) { value, _ throws(ConfigurationError) in try Configuration.Metrics(json: value) }
    ]
}

extension Configuration {
    /// Where metrics are read.
    public struct Metrics: Sendable {
        /// The port of the listener of `/metrics`, `/live` and `/ready`; nil for none.
        public var port: Int?
        /// The address on which it listens.
        public var host = "127.0.0.1"
        /// What a caller has to bring: on the main port, and on the own port unless it is this machine's alone.
        public var key: String?
        /// Whether `/metrics` is answered below the mount path, too.
        public var onMainPort = false

        /// No metrics.
        init() {}

        /// Whether metrics are kept.
        public var isOn: Bool { port != nil || onMainPort }

        /// Whether the address of the own port is this machine's alone.
        public var isLocal: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

        /// Reads the option; throws `ConfigurationError` for a port that is none, and where all the world could read.
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
    /// At which levels events of cloud code are logged.
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
    /// At which levels events of cloud code are logged.
    public struct EventLevels: Sendable {
        /// A level, in parse-server's words.
        public enum Level: String, CaseIterable, Sendable {
            case silent, error, warn, info, verbose, debug, silly
        }

        /// A trigger after something has run.
        public var triggerAfter = Level.info
        /// A trigger before something has let it pass.
        public var triggerBeforeSuccess = Level.info
        /// A trigger before something has refused it, or failed.
        public var triggerBeforeError = Level.error
        /// A function has answered.
        public var cloudFunctionSuccess = Level.info
        /// A function has failed.
        public var cloudFunctionError = Level.error
        /// A sign-up asks for a name that is taken.
        public var signupUsernameTaken = Level.info

        /// Parse-server's levels.
        public init() {}
    }
}
