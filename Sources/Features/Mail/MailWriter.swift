import Encoding
import JSON
import Operations
public import ServerConfiguration
import Synchronization
import Templates

/// Writes account emails from the deployment's templates or the built-in texts, and cloud code's emails from templates.
/// Operators may replace templates while the server runs.
public final class MailWriter: Sendable {
    let delivery: Configuration.MailDelivery
    private let appName: String
    private let publicServerURL: String
    private let linksHaveLocale: Bool
    private let configured: [Name: Template]
    private let replaced = Mutex<[Name: Template]>([:])

    struct Template: Sendable {
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
        var templates: [Name: Template] = [:]
        for (name, mail) in delivery.templates.mails {
            templates[name] = try Self.template(name, mail, delivery.templates.syntax)
        }
        configured = templates
    }

    private static func template(
        _ name: Name, _ mail: Configuration.MailTemplate, _ syntax: Configuration.MailTemplates.Syntax
    ) throws(ConfigurationError) -> Template {
        func part(_ text: Configuration.MailText?, _ name: String, isHTML: Bool = false) throws(ConfigurationError)
            -> MailPart?
        {
            guard let text else { return nil }
            return try MailPart(text, name, syntax, isHTML: isHTML)
        }
        return Template(
            subject: try part(mail.subject, "\(name).subject"), text: try part(mail.text, "\(name).text"),
            html: try part(mail.html, "\(name).html", isHTML: true), source: mail)
    }

    /// The templates in force.
    private var templates: [Name: Template] { configured.merging(replaced.withLock { $0 }) { $1 } }

    /// Replaces templates of the configuration. Invalid ones are ignored.
    func use(_ mails: [RuntimeOption: Configuration.MailTemplate]) {
        let templates = mails.compactMap { option, mail in
            let name = Name(option.rawValue)
            return (try? Self.template(name, mail, delivery.templates.syntax)).map { (name, $0) }
        }
        replaced.withLock { $0 = Dictionary(uniqueKeysWithValues: templates) }
    }

    func draft(_ kind: AccountMail.Kind, _ mail: Configuration.MailTemplate?, language: String)
        throws(ConfigurationError) -> JSONObject
    {
        let name = Name(kind.rawValue)
        var template = configured[name]
        if let mail { template = try Self.template(name, mail, delivery.templates.syntax) }
        var (subjects, texts): (JSONObject, JSONObject) = ([:], [:])
        func place(_ name: String) -> String { PlaceholderText.placeholder(name, delivery.templates.syntax) }
        for (key, language) in [("default", .english), ("de", .german)] as [(Name, MailTexts.Language)] {
            let (subject, text) = MailTexts.text(
                kind, in: language, appName: place("appName"), link: place("link"), username: place("username"),
                email: place("email"))
            (subjects[key], texts[key]) = (.string(subject), .string(text))
        }
        var parts: JSONObject = ["subject": .object(subjects)]
        if template?.html == nil { parts["text"] = .object(texts) }
        for (part, text) in [("subject", template?.subject), ("text", template?.text), ("html", template?.html)] {
            if let text { parts[Name(part)] = .object(text.source) }
        }
        let sample = sample(kind, language, template)
        return [
            "value": .object(parts), "languages": .array(locales.map { .string($0) }),
            "subject": .string(sample.subject), "text": .string(sample.text),
        ]
    }

    package var columns: [Name] {
        let settings = delivery.templates
        return settings.userFields + (settings.localeField.map { [$0] } ?? [])
    }

    /// Whether the language of a request selects the language of its email.
    var usesLocaleOfRequest: Bool { delivery.templates.localeFromRequest }

    /// The available languages, built-in ones first.
    package var locales: [String] {
        let own = Set(templates.values.flatMap(\.locales)).filter(LanguageTag.isValid)
        return ["en", "de"] + own.subtracting(["en", "de"]).sorted()
    }

    /// Writes a queued email.
    ///
    /// - Parameter content: The queued email: `kind`, `to`, `link`, `token`, `userId`, `username`, `email`, `user`,
    ///   `locales`.
    /// - Throws: `MailFailure` if the content is invalid.
    package func message(_ content: JSONObject) throws(MailFailure) -> MailMessage {
        guard let kind = content["kind"]?.stringValue.flatMap(AccountMail.Kind.init(rawValue:)) else {
            throw MailFailure(reason: "unsupported kind of email", isFinal: true)
        }
        guard let recipient = content["to"]?.stringValue else {
            throw MailFailure(reason: "no recipient", isFinal: true)
        }
        return message(kind, to: recipient, content, templates[Name(kind.rawValue)])
    }

    private func message(
        _ kind: AccountMail.Kind, to recipient: String, _ content: JSONObject, _ template: Template?
    ) -> MailMessage {
        let locales = locales(of: content)
        let values = values(content, recipient, locales, template?.source)
        let plain = TemplateValues.make(values) { $0 }
        let builtIn = MailTexts.text(
            kind, in: Self.builtInLanguage(locales), appName: appName, link: values["link"]?.stringValue,
            username: content["username"]?.stringValue ?? "", email: content["email"]?.stringValue ?? recipient)
        let subject = template?.subject?.text(in: locales)?.render(plain) ?? builtIn.subject
        let html = template?.html?.text(in: locales)?.render(Self.escaped(values))
        let text = template?.text?.text(in: locales)?.render(plain) ?? html.map(HTMLText.plain) ?? builtIn.text
        return MailMessage(
            sender: delivery.sender, replyTo: delivery.replyTo, recipients: [recipient],
            subject: String(MIMEMessage.line(subject).prefix(500)), text: text, html: html, name: Name(kind.rawValue),
            values: values)
    }

    /// Writes an email of cloud code from a template, in the user's language.
    ///
    /// - Parameters:
    ///   - name: The template of an account email or another template of the configuration.
    ///   - mail: `recipient`, `placeholders` and `user`, of which templates get name, address and configured fields.
    /// - Returns: The parts of the email, or nil if the template doesn't exist or has no body.
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

    /// Writes an email with sample values.
    ///
    /// - Parameter template: The template, or nil for the built-in texts.
    private func sample(_ kind: AccountMail.Kind, _ locale: String, _ template: Template?) -> MailMessage {
        let token = "ThisIsATokenOfAPreview000"
        var content: JSONObject = [
            "username": "kim", "email": "kim@example.com", "locales": [.string(locale)],
        ]
        var user: JSONObject = [:]
        for column in delivery.templates.userFields { user[column] = .string(column.text) }
        if let field = delivery.templates.localeField { user[field] = .string(locale) }
        content["user"] = .object(user)
        if kind == .verification || kind == .passwordReset {
            let page = kind == .verification ? "verify_email" : "request_password_reset"
            content["token"] = .string(token)
            content["link"] = .string("\(publicServerURL)/apps/app/\(page)?token=\(token)")
        }
        if kind == .operatorInvitation { content["link"] = "https://example.com/console/start" }
        return message(kind, to: "kim@example.com", content, template)
    }

    /// Returns all kinds of account emails with sample values, in all available languages.
    package func samples() -> [(locale: String, mail: MailMessage)] {
        locales.flatMap { locale in
            AccountMail.Kind.allCases.map { (locale, sample($0, locale, configured[Name($0.rawValue)])) }
        }
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

    /// Returns the placeholder values. The email's own override the user's columns, which override configured ones.
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
            escaped[name.text] = HTMLEscaping.escapeMarkup(address)
        }
        return escaped
    }
}
