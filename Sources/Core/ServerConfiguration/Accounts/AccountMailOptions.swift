import JSON

extension OptionTable {
    /// Mails that accounts need: confirming addresses, and choosing a new password.
    static let mails: [OptionDefinition] = [
        .text(
            "appName", "PARSE_SERVER_APP_NAME", \.accountMail.appName,
            "The app's name in mails and pages"),
        OptionDefinition(
            "emailAdapter", "PARSE_SERVER_EMAIL_ADAPTER", .any,
            "Mail service and texts: {\"module\":\"smtp\",\"options\":{…}}; also mailgun, ses, http and "
                + "parse-server's modules; see docs/accounts.md"
        ) { value, _, configuration throws(ConfigurationError) in
            configuration.accountMail.delivery = try Configuration.MailDelivery(
                value, warnings: &configuration.accountMail.warnings)
        },
        .flag(
            "verifyUserEmails", "PARSE_SERVER_VERIFY_USER_EMAILS", \.accountMail.verifyUserEmails,
            "Asks users to confirm their addresses by a link"),
        .flag(
            "preventLoginWithUnverifiedEmail", "PARSE_SERVER_PREVENT_LOGIN_WITH_UNVERIFIED_EMAIL",
            \.accountMail.preventLoginWithUnverifiedEmail,
            "Refuses log-ins without a confirmed address"),
        .flag(
            "preventSignupWithUnverifiedEmail", "PARSE_SERVER_PREVENT_SIGNUP_WITH_UNVERIFIED_EMAIL",
            \.accountMail.preventSignupWithUnverifiedEmail,
            "Answers sign-ups with 205 until the address is confirmed"),
        .custom(
            "emailVerifyTokenValidityDuration", "PARSE_SERVER_EMAIL_VERIFY_TOKEN_VALIDITY_DURATION", .number,
            \.accountMail.emailVerifyTokenValidityDuration,
            "Lifetime of a confirmation link in seconds; default unlimited"
        ) { value, _ throws(ConfigurationError) in
            guard value.numberValue?.isFinite == true else {
                throw ConfigurationError("Email verify token validity duration must be a valid number.")
            }
            return try value.time("Email verify token validity duration must be a value greater than 0.")
        },
        .flag(
            "emailVerifyTokenReuseIfValid", "PARSE_SERVER_EMAIL_VERIFY_TOKEN_REUSE_IF_VALID",
            \.accountMail.emailVerifyTokenReuseIfValid,
            "Sends the same link again while it is valid"),
        .flag(
            "emailVerifySuccessOnInvalidEmail", "PARSE_SERVER_EMAIL_VERIFY_SUCCESS_ON_INVALID_EMAIL",
            \.accountMail.emailVerifySuccessOnInvalidEmail, older: [8: false],
            "Hides who has an account from those who ask for a link"),
        .flag(
            "sendUserEmailVerification", "PARSE_SERVER_SEND_USER_EMAIL_VERIFICATION",
            \.accountMail.sendUserEmailVerification,
            "Sends these links; false only creates them"),
    ]
}

extension Configuration {
    /// Mails for accounts.
    public struct AccountMail: Sendable {
        /// The name of the app; nil where it is not given.
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
        /// Whether asking for a link never reveals who has an account.
        public var emailVerifySuccessOnInvalidEmail = true
        /// Whether the server sends these links, or makes them only.
        public var sendUserEmailVerification = true
        /// For how many seconds a link lets choose a new password; nil for ever.
        public var resetTokenValidityDuration: Double?
        /// Whether the same link is sent again while it is valid.
        public var resetTokenReuseIfValid = false
        /// Whether asking for a new password never reveals who has an account.
        public var resetPasswordSuccessOnInvalidEmail = true
        /// The address in links where `publicServerURL` is not set: that of mails on the terminal.
        var terminalURL: String?
        /// Warnings about options that have no effect.
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
    /// Records options that lack others, with parse-server's texts.
    func check(publicServerURL: String?, _ mistakes: inout ConfigurationMistakes) {
        let needed = [
            ("An emailAdapter", "emailAdapter", delivery == nil), ("An app name", "appName", appName == nil),
            ("A public server url", "publicServerURL", publicServerURL == nil),
        ]
        for (words, option, isMissing) in needed {
            mistakes.refuse(
                "verifyUserEmails", beside: [option], if: verifyUserEmails && isMissing,
                "\(words) is required for e-mail verification and password resets.")
        }
        mistakes.refuse(
            "emailVerifyTokenReuseIfValid", beside: ["emailVerifyTokenValidityDuration"],
            if: emailVerifyTokenReuseIfValid && emailVerifyTokenValidityDuration == nil,
            "You cannot use emailVerifyTokenReuseIfValid without emailVerifyTokenValidityDuration")
        mistakes.refuse(
            "passwordPolicy", if: resetTokenReuseIfValid && resetTokenValidityDuration == nil,
            "You cannot use resetTokenReuseIfValid without resetTokenValidityDuration")
    }
}
