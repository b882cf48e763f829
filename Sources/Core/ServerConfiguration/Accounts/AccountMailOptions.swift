import JSON

extension OptionTable {
    static let mails: [OptionDefinition] = [
        .text(
            "appName", "PARSE_SERVER_APP_NAME", \.accountMail.appName,
            "The app's name in emails and pages"),
        OptionDefinition(
            "emailAdapter", "PARSE_SERVER_EMAIL_ADAPTER", .any,
            "Mail service and texts: {\"module\":\"smtp\",\"options\":{…}}; also mailgun, ses, http and "
                + "parse-server's modules; see docs/accounts.md"
        ) { value, _, configuration throws(ConfigurationError) in
            if value == false || value == "" { return }
            configuration.accountMail.delivery = try Configuration.MailDelivery(
                value, warnings: &configuration.accountMail.warnings)
        },
        .flag(
            "verifyUserEmails", "PARSE_SERVER_VERIFY_USER_EMAILS", \.accountMail.verifyUserEmails,
            "Asks users to confirm their email addresses with a link"),
        .flag(
            "preventLoginWithUnverifiedEmail", "PARSE_SERVER_PREVENT_LOGIN_WITH_UNVERIFIED_EMAIL",
            \.accountMail.preventLoginWithUnverifiedEmail,
            "Rejects log-ins of users without a confirmed address; needs verifyUserEmails"),
        .flag(
            "preventSignupWithUnverifiedEmail", "PARSE_SERVER_PREVENT_SIGNUP_WITH_UNVERIFIED_EMAIL",
            \.accountMail.preventSignupWithUnverifiedEmail,
            "Creates users who sign up with a password, but returns error 205; needs "
                + "preventLoginWithUnverifiedEmail"),
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
            "Sends the same link again while it is valid; needs emailVerifyTokenValidityDuration"),
        .flag(
            "emailVerifySuccessOnInvalidEmail", "PARSE_SERVER_EMAIL_VERIFY_SUCCESS_ON_INVALID_EMAIL",
            \.accountMail.emailVerifySuccessOnInvalidEmail, older: [8: false],
            "Also returns success if no unconfirmed account has the address, so that requests for links reveal nothing"),
        .flag(
            "sendUserEmailVerification", "PARSE_SERVER_SEND_USER_EMAIL_VERIFICATION",
            \.accountMail.sendUserEmailVerification,
            "Emails the confirmation links; false only creates them"),
    ]
}

extension Configuration {
    /// Settings for account emails, such as address verification and password resets.
    public struct AccountMail: Sendable {
        public var appName: String?
        /// The mail transport and templates, or nil if the server sends no emails.
        public var delivery: MailDelivery?
        /// Whether users must verify their addresses.
        public var verifyUserEmails = false
        /// Whether users can log in only with a verified address. Has an effect only with ``verifyUserEmails``.
        public var preventLoginWithUnverifiedEmail = false
        /// Whether a sign-up creates the user but responds with 205 if the address must be verified before a log-in.
        public var preventSignupWithUnverifiedEmail = false
        /// The lifetime of a verification link in seconds, or nil if links don't expire.
        public var emailVerifyTokenValidityDuration: Double?
        /// Whether another request sends the same verification link while it is valid.
        public var emailVerifyTokenReuseIfValid = false
        /// Whether a request for a verification link succeeds even if no unverified account has the address.
        public var emailVerifySuccessOnInvalidEmail = true
        /// Whether the server sends verification links. If false, it only creates them.
        public var sendUserEmailVerification = true
        /// The lifetime of a password-reset link in seconds, or nil if links don't expire.
        public var resetTokenValidityDuration: Double?
        /// Whether another request sends the same password-reset link while it is valid.
        public var resetTokenReuseIfValid = false
        /// Whether a request for a password reset succeeds even if no account has the address.
        public var resetPasswordSuccessOnInvalidEmail = true
        /// The base URL of links if `publicServerURL` isn't set, from ``Configuration/showMailsOnTerminal()``.
        var terminalURL: String?
        var warnings: [String] = []
    }
}

extension Configuration {
    /// The base URL of links in emails and of their pages, or nil if it is unknown.
    public var linkURL: String? { publicServerURL ?? accountMail.terminalURL }

    /// Prints emails on the terminal if no transport is set. Links begin with `publicServerURL` or `serverURL`.
    ///
    /// - Returns: False if a transport is set.
    public mutating func showMailsOnTerminal() -> Bool {
        guard accountMail.delivery == nil else { return false }
        accountMail.delivery = .onTerminal
        accountMail.appName = accountMail.appName ?? appId
        accountMail.terminalURL = serverURL
        return true
    }
}

extension Configuration.AccountMail {
    /// Records a mistake for each option that requires another one that isn't set. The texts are parse-server's.
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
