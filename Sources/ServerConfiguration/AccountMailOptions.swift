import JSON

/// The options of mails that accounts need: confirming addresses, and choosing a new password.
enum AccountMailOptions {
    /// Their rows in the table.
    static let table = [
        OptionDefinition(
            "appName", "PARSE_SERVER_APP_NAME", .string, "The name of the app, for mails and the pages they lead to"),
        OptionDefinition(
            "emailAdapter", "PARSE_SERVER_EMAIL_ADAPTER", .any,
            "How mails are sent: {\"module\":\"smtp\",\"options\":{\"host\",\"port\",\"secure\",\"from\",\"user\",\"password\"}}"
        ),
        OptionDefinition(
            "verifyUserEmails", "PARSE_SERVER_VERIFY_USER_EMAILS", .boolean,
            "Whether users confirm their addresses by a link; default false"),
        OptionDefinition(
            "preventLoginWithUnverifiedEmail", "PARSE_SERVER_PREVENT_LOGIN_WITH_UNVERIFIED_EMAIL", .boolean,
            "Whether only users with a confirmed address log in; default false"),
        OptionDefinition(
            "preventSignupWithUnverifiedEmail", "PARSE_SERVER_PREVENT_SIGNUP_WITH_UNVERIFIED_EMAIL", .boolean,
            "Whether a sign-up is answered with 205 until the address is confirmed; default false"),
        OptionDefinition(
            "emailVerifyTokenValidityDuration", "PARSE_SERVER_EMAIL_VERIFY_TOKEN_VALIDITY_DURATION", .number,
            "For how many seconds a link confirms an address; default for ever"),
        OptionDefinition(
            "emailVerifyTokenReuseIfValid", "PARSE_SERVER_EMAIL_VERIFY_TOKEN_REUSE_IF_VALID", .boolean,
            "Whether the same link is sent again while it is valid; default false"),
        OptionDefinition(
            "emailVerifySuccessOnInvalidEmail", "PARSE_SERVER_EMAIL_VERIFY_SUCCESS_ON_INVALID_EMAIL", .boolean,
            "Whether asking for a link never tells who has an account; default true (false up to preset 8)"),
        OptionDefinition(
            "sendUserEmailVerification", "PARSE_SERVER_SEND_USER_EMAIL_VERIFICATION", .boolean,
            "Whether the server sends these links, or makes them only; default true"),
    ]
}

extension Configuration {
    /// Mails for accounts.
    public struct AccountMail: Sendable {
        /// The name of the app; nil where it is not told.
        public var appName: String?
        /// How mails are sent; nil for not at all.
        public var transport: MailTransport?
        /// Whether users confirm their addresses.
        public var verifyUserEmails = false
        /// Whether only users with a confirmed address log in.
        public var preventLoginWithUnverifiedEmail = false
        /// Whether a sign-up is answered with 205 until the address is confirmed.
        public var preventSignupWithUnverifiedEmail = false
        /// For how many seconds a link confirms an address; nil for ever.
        public var emailVerifyTokenValidityDuration: Double?
        /// Whether the same link is sent again while it is valid.
        public var emailVerifyTokenReuseIfValid = false
        /// Whether asking for a link never tells who has an account.
        public var emailVerifySuccessOnInvalidEmail = true
        /// Whether the server sends these links, or makes them only.
        public var sendUserEmailVerification = true
        /// For how many seconds a link lets choose a new password; nil for ever.
        public var resetTokenValidityDuration: Double?
        /// Whether the same link is sent again while it is valid.
        public var resetTokenReuseIfValid = false
        /// Whether asking for a new password never tells who has an account.
        public var resetPasswordSuccessOnInvalidEmail = true

        init() {}
    }

    /// How mails are sent.
    public enum MailTransport: Sendable {
        case smtp(SMTP)
    }

    /// A server that takes mails by SMTP.
    public struct SMTP: Sendable {
        /// The name or address of the server.
        public var host: String
        public var port: Int
        /// Whether TLS begins with the connection. Otherwise it begins when the server offers it (STARTTLS).
        public var isSecure: Bool
        /// The sender, an address or `Name <address>`.
        public var sender: String
        /// The name and the password to log in with; nil for none.
        public var user: String?
        public var password: String?
    }
}

extension Configuration.AccountMail {
    /// Reads the options.
    ///
    /// - Parameter values: All options.
    /// - Throws: `ConfigurationError` with parse-server's texts for what cannot be.
    init(values: [String: JSONValue], preset: Int, publicServerURL: String?) throws(ConfigurationError) {
        self.init()
        func flag(_ key: String, _ fallback: Bool) -> Bool { values[key]?.boolValue ?? fallback }
        appName = values["appName"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
        if let adapter = values["emailAdapter"], !adapter.isNull {
            transport = try Configuration.MailTransport(adapter)
        }
        verifyUserEmails = flag("verifyUserEmails", false)
        preventLoginWithUnverifiedEmail = flag("preventLoginWithUnverifiedEmail", false)
        preventSignupWithUnverifiedEmail = flag("preventSignupWithUnverifiedEmail", false)
        emailVerifyTokenReuseIfValid = flag("emailVerifyTokenReuseIfValid", false)
        emailVerifySuccessOnInvalidEmail = flag("emailVerifySuccessOnInvalidEmail", preset >= 9)
        sendUserEmailVerification = flag("sendUserEmailVerification", true)
        if verifyUserEmails {
            func need(_ name: String) -> ConfigurationError {
                ConfigurationError("\(name) is required for e-mail verification and password resets.")
            }
            guard transport != nil else { throw need("An emailAdapter") }
            guard appName != nil else { throw need("An app name") }
            guard publicServerURL != nil else { throw need("A public server url") }
        }
        if let duration = values["emailVerifyTokenValidityDuration"], !duration.isNull {
            guard let seconds = duration.numberValue, seconds.isFinite else {
                throw ConfigurationError("Email verify token validity duration must be a valid number.")
            }
            guard seconds > 0 else {
                throw ConfigurationError("Email verify token validity duration must be a value greater than 0.")
            }
            emailVerifyTokenValidityDuration = min(seconds, Self.longest)
        }
        if emailVerifyTokenReuseIfValid, emailVerifyTokenValidityDuration == nil {
            throw ConfigurationError(
                "You cannot use emailVerifyTokenReuseIfValid without emailVerifyTokenValidityDuration")
        }
        try readReset(values["passwordPolicy"]?.objectValue ?? [:])
    }

    private mutating func readReset(_ policy: JSONObject) throws(ConfigurationError) {
        resetTokenReuseIfValid = policy["resetTokenReuseIfValid"]?.boolValue ?? false
        resetPasswordSuccessOnInvalidEmail = policy["resetPasswordSuccessOnInvalidEmail"]?.boolValue ?? true
        if let duration = policy["resetTokenValidityDuration"], !duration.isNull {
            guard let seconds = duration.numberValue, seconds > 0, seconds.isFinite else {
                throw ConfigurationError("passwordPolicy.resetTokenValidityDuration must be a positive number")
            }
            resetTokenValidityDuration = min(seconds, Self.longest)
        }
        if resetTokenReuseIfValid, resetTokenValidityDuration == nil {
            throw ConfigurationError("You cannot use resetTokenReuseIfValid without resetTokenValidityDuration")
        }
    }

    /// A hundred years, in seconds: what is longer counts as that.
    private static let longest: Double = 3_155_760_000
}

extension Configuration.MailTransport {
    /// Reads the option `emailAdapter`.
    ///
    /// - Throws: `ConfigurationError` for a module that there is not, or settings that it cannot use.
    init(_ adapter: JSONValue) throws(ConfigurationError) {
        guard let module = adapter.stringValue ?? adapter["module"]?.stringValue else {
            throw ConfigurationError("Key emailAdapter has no module, such as {\"module\":\"smtp\",\"options\":{…}}")
        }
        guard module.utf8.elementsEqual("smtp".utf8) else {
            throw ConfigurationError(
                "option emailAdapter.module: \(module) is not built into Roost. Every provider of mail takes it by "
                    + "SMTP: {\"module\":\"smtp\",\"options\":{\"host\",\"port\",\"secure\",\"from\",\"user\",\"password\"}}"
            )
        }
        let options = adapter["options"]?.objectValue ?? [:]
        let known: Set<Name> = ["host", "port", "secure", "from", "user", "password"]
        if let unknown = options.keys.first(where: { !known.contains($0) }) {
            throw ConfigurationError("error: unknown option emailAdapter.options.\(unknown)")
        }
        func text(_ key: Name) throws(ConfigurationError) -> String? {
            guard let value = options[key], !value.isNull else { return nil }
            // Neither a line of the protocol nor an address has control characters.
            guard let text = value.stringValue, !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw ConfigurationError("Key emailAdapter.options.\(key) has an invalid value")
            }
            return text
        }
        guard let host = try text("host") else { throw ConfigurationError("Key emailAdapter.options.host is missing") }
        guard let sender = try text("from") else {
            throw ConfigurationError("Key emailAdapter.options.from is missing")
        }
        guard sender.utf8.contains(UInt8(ascii: "@")) else {
            throw ConfigurationError("Key emailAdapter.options.from is no mail address")
        }
        let isSecure = options["secure"]?.boolValue ?? false
        let port = options["port"].flatMap { $0.numberValue ?? $0.stringValue.flatMap { Double($0) } }
        guard let number = Int(exactly: port ?? (isSecure ? 465 : 587)), (1...65_535).contains(number) else {
            throw ConfigurationError("Key emailAdapter.options.port has an invalid value")
        }
        let user = try text("user")
        let password = try text("password")
        self = .smtp(
            Configuration.SMTP(
                host: host, port: number, isSecure: isSecure, sender: sender, user: user, password: password))
    }
}
