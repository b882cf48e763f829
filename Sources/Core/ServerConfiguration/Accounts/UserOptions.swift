import JSON

extension OptionTable {
    static let users: [OptionDefinition] = [
        OptionDefinition(
            "sessionLength", "PARSE_SERVER_SESSION_LENGTH", .number, \.sessionLength, older: [:],
            "Lifetime of a session in seconds", word: OptionDefinition.plain
        ) { value, _ in
            // `Configuration` rejects 0, but only if sessions expire.
            value.numberValue.map { $0 > 0 ? max(1, Int(min($0, JSONValue.longestTime))) : 0 }
        },
        .flag(
            "expireInactiveSessions", "PARSE_SERVER_EXPIRE_INACTIVE_SESSIONS", \.expireInactiveSessions,
            "Lets sessions expire"),
        .flag(
            "extendSessionOnUse", "PARSE_SERVER_EXTEND_SESSION_ON_USE", \.extendSessionOnUse,
            "Renews a session that is used after half its life"),
        .flag(
            "revokeSessionOnPasswordReset", "PARSE_SERVER_REVOKE_SESSION_ON_PASSWORD_RESET",
            \.revokeSessionOnPasswordReset,
            "Ends all sessions when the password changes"),
        OptionDefinition(
            "passwordPolicy", "PARSE_SERVER_PASSWORD_POLICY", .object, "Rules for passwords",
            members: [
                .custom("validatorPattern", nil, .string, \.passwordRules.validatorPattern) {
                    value, name throws(ConfigurationError) in
                    guard let pattern = value.stringValue, Pattern.isValid(pattern) else {
                        throw ConfigurationError("\(name) must be a regex string or RegExp object.")
                    }
                    return pattern
                },
                .custom("validationError", nil, .string, \.passwordRules.validationError) { value, _ in
                    value.stringValue
                },
                .flag("doNotAllowUsername", nil, \.passwordRules.doNotAllowUsername),
                .custom("maxPasswordAge", nil, .number, \.passwordRules.maxPasswordAge) {
                    value, name throws(ConfigurationError) in
                    guard let days = value.numberValue, days >= 0, days.isFinite else {
                        throw ConfigurationError("\(name) must be a positive number")
                    }
                    return days > 0 ? days : .some(nil)
                },
                .custom("maxPasswordHistory", nil, .number, \.passwordRules.maxPasswordHistory) {
                    value, name throws(ConfigurationError) in
                    guard let count = value.numberValue.flatMap(Int.init(exactly:)), (0...20).contains(count) else {
                        throw ConfigurationError("\(name) must be an integer ranging 0 - 20")
                    }
                    return count
                },
                .custom("resetTokenValidityDuration", nil, .number, \.accountMail.resetTokenValidityDuration) {
                    value, name throws(ConfigurationError) in
                    try value.time("\(name) must be a positive number")
                },
                .flag("resetTokenReuseIfValid", nil, \.accountMail.resetTokenReuseIfValid),
                .flag("resetPasswordSuccessOnInvalidEmail", nil, \.accountMail.resetPasswordSuccessOnInvalidEmail),
            ], variables: .init(prefix: "PARSE_SERVER_PASSWORD_POLICY")
        ) { _, _, configuration in configuration.passwordPolicy = Configuration.PasswordPolicy() },
        .custom(
            "accountLockout", "PARSE_SERVER_ACCOUNT_LOCKOUT", .object, \.accountLockout,
            "Locks accounts after failed log-ins: threshold (1 to 999), duration in minutes",
            members: [
                .member("threshold", .number), .member("duration", .number),
                .member("unlockOnPasswordReset", .boolean),
            ], variables: .init(prefix: "PARSE_SERVER_ACCOUNT_LOCKOUT", needed: ["duration", "threshold"])
        ) { value, _ throws(ConfigurationError) in try Configuration.AccountLockout(json: value) },
        .flag(
            "convertEmailToLowercase", "PARSE_SERVER_CONVERT_EMAIL_TO_LOWERCASE", \.convertEmailToLowercase,
            "Stores email addresses in lower case"),
        .flag(
            "convertUsernameToLowercase", "PARSE_SERVER_CONVERT_USERNAME_TO_LOWERCASE", \.convertUsernameToLowercase,
            "Stores user names in lower case"),
        .flag(
            "caseInsensitiveLogin", "ROOST_CASE_INSENSITIVE_LOGIN", \.caseInsensitiveLogin,
            "Finds users by name and address in any case"),
        .whole(
            "cacheTTL", "PARSE_SERVER_CACHE_TTL", \.cacheTTL, in: 0...86_400_000,
            "Milliseconds for which sessions and roles are cached"),
        .whole(
            "cacheMaxSize", "PARSE_SERVER_CACHE_MAX_SIZE", \.cacheMaxSize, in: 1...10_000_000,
            "Maximum number of cached sessions"),
    ]
}

extension Configuration {
    public struct PasswordPolicy: Sendable {
        /// The regular expression that passwords must match, or nil for no such rule.
        public var validatorPattern: String?
        /// The error for passwords that the pattern, the app's function or the user-name rule rejects, or nil for the
        /// default.
        public var validationError: String?
        /// Whether passwords must not contain the user name.
        public var doNotAllowUsername = false
        /// The age in days after which a password must be changed, or nil if passwords don't expire.
        public var maxPasswordAge: Double?
        /// The number of recent passwords, including the current one, that can't be reused, 0 to 20.
        public var maxPasswordHistory = 0
    }

    /// The option `accountLockout`: accounts are locked after failed log-ins.
    public struct AccountLockout: Sendable {
        /// The number of failed log-ins that lock an account, 1 to 999.
        public var threshold: Int
        /// The duration of the lock in minutes.
        public var duration: Double
        /// Whether resetting the password by a link unlocks the account.
        public var unlockOnPasswordReset: Bool

        public init(threshold: Int, duration: Double, unlockOnPasswordReset: Bool) {
            self.threshold = threshold
            self.duration = duration
            self.unlockOnPasswordReset = unlockOnPasswordReset
        }

        /// Reads the option `accountLockout`.
        ///
        /// - Throws: `ConfigurationError` if the duration or the threshold is missing or out of range.
        init(json: JSONValue) throws(ConfigurationError) {
            guard let duration = json["duration"]?.numberValue, duration > 0, duration <= 99_999 else {
                throw ConfigurationError(
                    "Account lockout duration should be greater than 0 and less than 100000")
            }
            guard let threshold = json["threshold"]?.numberValue.flatMap(Int.init(exactly:)),
                (1...999).contains(threshold)
            else {
                throw ConfigurationError(
                    "Account lockout threshold should be an integer greater than 0 and less than 1000")
            }
            self.init(
                threshold: threshold, duration: duration,
                unlockOnPasswordReset: json["unlockOnPasswordReset"]?.boolValue ?? false)
        }
    }

    /// The password policy, or one without rules if none is configured. Setting a rule creates the policy.
    var passwordRules: PasswordPolicy {
        get { passwordPolicy ?? PasswordPolicy() }
        set { passwordPolicy = newValue }
    }
}
