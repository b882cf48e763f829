import Encoding
import JSON
import Operations
public import ServerConfiguration
import Templates

/// Writes account mails from the deployment's templates or the built-in texts.
public struct MailWriter: Sendable {
    private let delivery: Configuration.MailDelivery
    private let appName: String
    private let publicServerURL: String
    private let linksHaveLocale: Bool
    private let templates: [Name: Template]

    private struct Template: Sendable {
        var subject: MailPart?
        var text: MailPart?
        var html: MailPart?
        var source: Configuration.MailTemplate

        var locales: [String] {
            [subject, text, html].flatMap { $0?.locales ?? [] } + source.placeholdersByLocale.keys.map(\.text)
        }
    }

    /// Reads all templates.
    ///
    /// - Throws: `ConfigurationError` if a template can't be read or is invalid.
    public init(_ delivery: Configuration.MailDelivery, _ configuration: Configuration) throws(ConfigurationError) {
        self.delivery = delivery
        appName = configuration.accountMail.appName ?? ""
        publicServerURL = configuration.linkURL ?? ""
        linksHaveLocale = configuration.pages.enableLocalization && configuration.customPages.parseFrameURL == nil
        let settings = delivery.templates
        func part(_ text: Configuration.MailText?, _ name: String, isHTML: Bool = false) throws(ConfigurationError)
            -> MailPart?
        {
            guard let text else { return nil }
            return try MailPart(text, name, settings.syntax, isHTML: isHTML)
        }
        var templates: [Name: Template] = [:]
        for (name, mail) in settings.mails {
            templates[name] = Template(
                subject: try part(mail.subject, "\(name).subject"), text: try part(mail.text, "\(name).text"),
                html: try part(mail.html, "\(name).html", isHTML: true), source: mail)
        }
        self.templates = templates
    }

    package var columns: [Name] {
        let settings = delivery.templates
        return settings.userFields + (settings.localeField.map { [$0] } ?? [])
    }

    /// Whether the language of a request selects the language of its mail.
    var usesLocaleOfRequest: Bool { delivery.templates.localeFromRequest }

    /// The available languages, built-in ones first.
    package var locales: [String] {
        let own = Set(templates.values.flatMap(\.locales)).filter(LanguageTag.isValid)
        return ["en", "de"] + own.subtracting(["en", "de"]).sorted()
    }

    /// Writes a queued mail.
    ///
    /// - Parameter content: The queued mail: `kind`, `to`, `link`, `token`, `userId`, `username`, `email`, `user`,
    ///   `locales`.
    /// - Throws: `MailFailure` if the content is invalid.
    package func message(_ content: JSONObject) throws(MailFailure) -> MailMessage {
        guard let kind = content["kind"]?.stringValue.flatMap(AccountMail.Kind.init(rawValue:)) else {
            throw MailFailure(reason: "unsupported kind of mail", isFinal: true)
        }
        guard let recipient = content["to"]?.stringValue else {
            throw MailFailure(reason: "no recipient", isFinal: true)
        }
        let locales = locales(of: content)
        let template = templates[Name(kind.rawValue)]
        let values = values(content, recipient, locales, template?.source)
        let plain = TemplateValues.make(values) { $0 }
        let builtIn = MailTexts(language: Self.builtInLanguage(locales)).text(
            kind, appName: appName, link: values["link"]?.stringValue, username: content["username"]?.stringValue ?? "",
            email: content["email"]?.stringValue ?? recipient)
        let subject = template?.subject?.text(in: locales)?.render(plain) ?? builtIn.subject
        let html = template?.html?.text(in: locales)?.render(Self.escaped(values))
        let text = template?.text?.text(in: locales)?.render(plain) ?? html.map(HTMLText.plain) ?? builtIn.text
        return MailMessage(
            sender: delivery.sender, replyTo: delivery.replyTo, recipients: [recipient],
            subject: String(MIMEMessage.line(subject).prefix(500)), text: text, html: html, name: Name(kind.rawValue),
            values: values)
    }

    /// Writes a mail of cloud code from a template, in the user's language.
    ///
    /// - Parameters:
    ///   - name: The template of an account mail or another template of the configuration.
    ///   - mail: `recipient`, `placeholders` and `user`, a user object. Columns hidden from templates are omitted.
    /// - Returns: The parts of the mail, or nil if the template doesn't exist or has no body.
    func parts(_ name: Name, _ mail: JSONObject) -> (subject: String?, text: String, html: String?)? {
        guard let template = templates[name] else { return nil }
        let user = mail["user"]?.objectValue ?? [:]
        var content: JSONObject = ["user": .object(user.filter { columns.contains($0.key) })]
        content["username"] = user["username"]?.orNil ?? ""
        content["email"] = user["email"]?.orNil
        let locales = locales(of: content)
        var values = values(content, mail["recipient"]?.stringValue ?? "", locales, template.source)
        values.merge(mail["placeholders"]?.objectValue ?? [:]) { $1 }
        let plain = TemplateValues.make(values) { $0 }
        let html = template.html?.text(in: locales)?.render(Self.escaped(values))
        guard let text = template.text?.text(in: locales)?.render(plain) ?? html.map(HTMLText.plain) else { return nil }
        return (template.subject?.text(in: locales)?.render(plain), text, html)
    }

    var names: [String] { AccountMail.Kind.allCases.map(\.rawValue) }

    /// Writes a mail with sample values.
    func sample(_ name: String, _ locale: String) throws(MailFailure) -> MailMessage {
        let token = "ThisIsATokenOfAPreview000"
        var content: JSONObject = [
            "kind": .string(name), "to": "kim@example.com", "username": "kim", "email": "kim@example.com",
            "locales": [.string(locale)],
        ]
        var user: JSONObject = [:]
        for column in delivery.templates.userFields { user[column] = .string(column.text) }
        if let field = delivery.templates.localeField { user[field] = .string(locale) }
        content["user"] = .object(user)
        if name == AccountMail.Kind.verification.rawValue || name == AccountMail.Kind.passwordReset.rawValue {
            let page = name == AccountMail.Kind.verification.rawValue ? "verify_email" : "request_password_reset"
            content["token"] = .string(token)
            content["link"] = .string("\(publicServerURL)/apps/app/\(page)?token=\(token)")
        }
        if name == AccountMail.Kind.operatorInvitation.rawValue {
            content["link"] = "https://example.com/console/start"
        }
        return try message(content)
    }

    /// Returns the preferred languages: the user's, or else the request's.
    private func locales(of content: JSONObject) -> [String] {
        if let field = delivery.templates.localeField,
            let locale = content["user"]?[field]?.stringValue?.replacing("_", with: "-"), LanguageTag.isValid(locale)
        {
            return [locale]
        }
        return content["locales"]?.arrayValue?.compactMap(\.stringValue).filter(LanguageTag.isValid) ?? []
    }

    private static func builtInLanguage(_ locales: [String]) -> MailTexts.Language {
        for locale in locales {
            switch LanguageTag.candidates(locale).last?.lowercased() {
            case "de": return .german
            case "en": return .english
            default: continue
            }
        }
        return .english
    }

    /// Returns the placeholder values. The mail's own override the user's columns, which override configured ones.
    private func values(
        _ content: JSONObject, _ recipient: String, _ locales: [String], _ template: Configuration.MailTemplate?
    ) -> JSONObject {
        var values = delivery.templates.placeholders.merging(template?.placeholders ?? [:]) { $1 }
        let own = locales.lazy.flatMap(LanguageTag.candidates).compactMap {
            template?.placeholdersByLocale[Name($0)]
        }.first
        values.merge(own ?? [:]) { $1 }
        let user = content["user"]?.objectValue ?? [:]
        values.merge(user) { $1 }
        let username = content["username"] ?? ""
        let email = content["email"]?.orNil ?? .string(recipient)
        var record = user.merging(["username": username, "email": email]) { $1 }
        record["objectId"] = content["userId"]
        values["user"] = .object(record)
        values["appName"] = .string(appName)
        // Some services' templates (Mailgun, Postmark, Mandrill) use this spelling.
        values["appname"] = .string(appName)
        values["publicServerUrl"] = .string(publicServerURL)
        values["username"] = username
        values["email"] = email
        values["token"] = content["token"]
        values["locale"] = locales.first.map { .string($0) }
        if var link = content["link"]?.stringValue {
            // Only links with a token open localized pages.
            if linksHaveLocale, content["token"] != nil, let locale = locales.first {
                link += (link.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + "locale=\(locale)"
            }
            values["link"] = .string(link)
        }
        return values
    }

    /// HTML-escapes values, because users choose them. URLs stay readable.
    private static func escaped(_ values: JSONObject) -> [String: any Sendable] {
        var escaped = TemplateValues.make(values, HTMLEscaping.escape)
        for name in ["link", "publicServerUrl"] as [Name] {
            guard let address = values[name]?.stringValue, !address.isEmpty else { continue }
            escaped[name.text] = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")]
                .reduce(address) { $0.replacing($1.0, with: $1.1) }
        }
        return escaped
    }
}
