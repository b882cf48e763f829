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
