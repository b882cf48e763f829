public import JSON

/// An option that operators can change while the server runs. The raw value is its name, or the name of a mail template
/// in `emailAdapter.options.templates`.
public enum RuntimeOption: String, Sendable, CaseIterable {
    case rateLimit
    case verificationEmail
    case passwordResetEmail
}

extension Configuration {
    /// Sets an option as if the configuration file contained the value.
    ///
    /// - Throws: `ConfigurationError` for an invalid value, or for an email without `emailAdapter`.
    public mutating func set(_ option: RuntimeOption, _ value: JSONValue) throws(ConfigurationError) {
        guard option != .rateLimit else {
            rateLimits = try RateLimitOptions.list(value) + accountRateLimits
            return
        }
        let name = Name(option.rawValue)
        let path = "emailAdapter.options.templates.\(name)"
        guard accountMail.delivery != nil else {
            throw ConfigurationError("emailAdapter is not configured (docs/accounts.md)")
        }
        guard let object = value.objectValue else { throw ConfigurationError("option \(path) must be an object") }
        // File paths would let operators read any file of the server.
        if let other = object.keys.first(where: { !["subject", "text", "html"].contains($0) }) {
            throw ConfigurationError("unknown option \(path).\(other)")
        }
        let read = try MailTemplate(object, path)
        var template = mailTemplate(option) ?? read
        (template.subject, template.text, template.html) = (read.subject, read.text, read.html)
        accountMail.delivery?.templates.mails[name] = template
    }

    /// Returns the template of an email, or nil to use the built-in texts.
    public func mailTemplate(_ option: RuntimeOption) -> MailTemplate? {
        accountMail.delivery?.templates.mails[Name(option.rawValue)]
    }

    /// The limits that `accountRateLimit` adds to those of `rateLimit`.
    var accountRateLimits: [RateLimit] {
        accountRateLimit ? RateLimitOptions.accounts(pages: pages.pagesEndpoint) : []
    }
}
