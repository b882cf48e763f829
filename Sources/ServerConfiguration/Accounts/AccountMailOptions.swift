import JSON

/// The options of mails that accounts need: confirming addresses, and choosing a new password.
enum AccountMailOptions {
    /// Their rows in the table.
    static let table = [
        OptionDefinition(
            "appName", "PARSE_SERVER_APP_NAME", .string, "The name of the app, for mails and the pages they lead to"),
        OptionDefinition(
            "emailAdapter", "PARSE_SERVER_EMAIL_ADAPTER", .any,
            "How mails are sent, and what they say: {\"module\":\"smtp\",\"options\":{…}}; the modules are smtp, mailgun, ses and "
                + "http, and those of parse-server; docs/accounts.md lists their options"),
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
        public var delivery: MailDelivery?
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
        /// The address in links where `publicServerURL` is not set: that of mails on the terminal.
        var terminalURL: String?
        /// What to tell about options that have no effect.
        var warnings: [String] = []

        init() {}
    }
}

extension Configuration {
    /// The base of links in mails and of their pages; nil where it is not known.
    public var linkURL: String? { publicServerURL ?? accountMail.terminalURL }

    /// Has mails shown on the terminal, with links to this machine, where no way to send them is configured.
    ///
    /// - Returns: Whether they are.
    public mutating func showMailsOnTerminal() -> Bool {
        guard accountMail.delivery == nil else { return false }
        accountMail.delivery = .onTerminal
        accountMail.appName = accountMail.appName ?? appId
        accountMail.terminalURL = serverURL
        return true
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
            delivery = try Configuration.MailDelivery(adapter, warnings: &warnings)
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
            guard delivery != nil else { throw need("An emailAdapter") }
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
            emailVerifyTokenValidityDuration = min(seconds, LongTime.seconds)
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
            resetTokenValidityDuration = min(seconds, LongTime.seconds)
        }
        if resetTokenReuseIfValid, resetTokenValidityDuration == nil {
            throw ConfigurationError("You cannot use resetTokenReuseIfValid without resetTokenValidityDuration")
        }
    }
}
