import JSON

/// Converts the options of parse-server's SMTP adapters to Roost's mail settings.
enum SMTPMailAdapters {
    private static let certificates =
        "Certificates are always checked. Add your authority's certificate to the option "
        + "trustedCertificates"

    /// Converts parse-smtp-template, whose HTML files contain `${x}`.
    static func template(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        let isSecure = try options.flag("secure") ?? false
        let sender = try options.sender("fromAddress", "user")
        let server = Configuration.SMTP(
            host: try options.needed("host"), port: try options.port("port", isSecure ? 465 : 587), isSecure: isSecure,
            login: try .password(&options, "password"))
        var delivery = Configuration.MailDelivery(sender: sender, transport: .smtp(server))
        delivery.templates.syntax = .dollar
        let single = try options.flag("template") == true ? try options.text("templatePath") : nil
        let isMulti = try options.flag("multiTemplate") ?? false
        let hasLanguages = try options.flag("multiLang") ?? false
        if hasLanguages { delivery.templates.localeField = "lang" }
        for (mail, kind, key) in [
            ("verificationEmail", "confirm", "multiLangConfirm"), ("passwordResetEmail", "password", "multiLangPass"),
        ] {
            let file = isMulti ? try options.text(Name("\(kind)TemplatePath")) : nil
            let texts = try options.object(Name("\(kind)Options")) ?? [:]
            let languages = hasLanguages ? try options.object(Name(key)) ?? [:] : [:]
            var template = Configuration.MailTemplate()
            template.placeholders = placeholders(texts)
            if let subject = texts["subject"] {
                guard let text = subject.stringValue else {
                    throw ConfigurationError("option emailAdapter.options.\(kind)Options.subject must be a string")
                }
                template.subject = Configuration.MailText(.inline(text))
            }
            for (locale, value) in languages {
                guard let own = value.objectValue else {
                    throw ConfigurationError("option emailAdapter.options.\(key).\(locale) must be an object")
                }
                template.placeholdersByLocale[locale] = placeholders(own)
                guard let subject = own["subject"]?.stringValue else { continue }
                if template.subject == nil { template.subject = Configuration.MailText(nil) }
                template.subject?.byLocale[locale] = .inline(subject)
            }
            if let path = isMulti ? file : single {
                template.html = Configuration.MailText(.file(path))
            } else if texts["body"]?.stringValue != nil {
                template.text = Configuration.MailText(.inline("${body}\n\n${link}\n"))
            }
            delivery.templates.mails[Name(mail)] = template
        }
        return delivery
    }

    /// Returns placeholders for both spellings in templates, `${body}` and `${options.body}`.
    private static func placeholders(_ texts: JSONObject) -> JSONObject {
        texts.merging(["options": .object(texts)]) { $1 }
    }

    static func simple(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        let isSecure = try options.flag("isSSL") ?? false
        if try options.flag("isTlsRejectUnauthorized") == false {
            throw options.refusal("isTlsRejectUnauthorized", "false is not allowed", certificates)
        }
        if try options.text("emailField").map({ $0 != "email" }) ?? false {
            throw options.refusal("emailField", "emails go to the column email", "Leave it out")
        }
        if options.value("templates") != nil {
            throw options.refusal("templates", "Jade templates are not supported", own)
        }
        let sender = try options.sender("fromAddress", "user")
        let server = Configuration.SMTP(
            host: try host(&options), port: try options.port("port", isSecure ? 465 : 587), isSecure: isSecure,
            login: try .password(&options, "password"), clientName: try options.text("name"))
        return Configuration.MailDelivery(sender: sender, transport: .smtp(server))
    }

    private static func host(_ options: inout AdapterOptions) throws(ConfigurationError) -> String {
        let service = try options.text("service")
        if let host = try options.text("host") { return host }
        guard let service else { return try options.needed("host") }
        guard let host = host(service) else {
            throw options.refusal("service", "\(service) is unknown", "Name the server in host and port")
        }
        return host
    }

    private static func host(_ service: String) -> String? {
        switch service.lowercased() {
        case "gmail": "smtp.gmail.com"
        case "outlook365": "smtp.office365.com"
        case "sendgrid": "smtp.sendgrid.net"
        case "mailgun": "smtp.mailgun.org"
        case "postmark": "smtp.postmarkapp.com"
        case "mandrill": "smtp.mandrillapp.com"
        case "mailjet": "in-v3.mailjet.com"
        case "sendinblue", "brevo": "smtp-relay.brevo.com"
        case "zoho": "smtp.zoho.com"
        default: nil
        }
    }

    private static let own =
        "Use the module smtp, and write texts with {{link}}: "
        + #""templates":{"verificationEmail":{"subject","textPath","htmlPath"},"passwordResetEmail":{…}}"#

    static func ejs(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        if options.value("templatesOptions") != nil {
            throw options.refusal("templatesOptions", "EJS templates are not supported", own)
        }
        let server = try options.nested("nodeMailerOptions", nodemailer)
        return Configuration.MailDelivery(sender: try options.sender("defaultFrom"), transport: .smtp(server))
    }

    private static func nodemailer(_ options: inout AdapterOptions) throws(ConfigurationError)
        -> Configuration.SMTP
    {
        let checks = try options.nested("tls") { tls throws(ConfigurationError) in try tls.flag("rejectUnauthorized") }
        if checks == false { throw options.refusal("tls.rejectUnauthorized", "false is not allowed", certificates) }
        let isSecure = try options.flag("secure") ?? false
        return Configuration.SMTP(
            host: try host(&options), port: try options.port("port", isSecure ? 465 : 587), isSecure: isSecure,
            login: try .auth(&options), clientName: try options.text("name"))
    }

    /// Converts the options of @openinc/parse-server-smtp-adapter. Its templates, such as `verificationEmail.html` in
    /// `templateDir`, contain `{{ link }}`.
    static func openinc(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        if try options.text("emailAttribute").map({ $0 != "email" }) ?? false {
            throw options.refusal("emailAttribute", "emails go to the column email", "Leave it out")
        }
        let server = try nodemailer(&options)
        var delivery = Configuration.MailDelivery(sender: try options.sender("from"), transport: .smtp(server))
        delivery.templates.localeField = try options.text("languageAttribute").map { Name($0) }
        if let field = delivery.templates.localeField {
            try AdapterOptions.checkColumn(field, "languageAttribute")
        }
        let folder = try options.text("templateDir")
        for (mail, subject) in [
            ("verificationEmail", "subjectVerificationEmail"), ("passwordResetEmail", "subjectPasswordResetEmail"),
        ] {
            var template = Configuration.MailTemplate()
            if let value = options.value(Name(subject)) {
                template.subject = try Configuration.MailText(inline: value, "emailAdapter.options.\(subject)")
            }
            if let folder {
                template.text = Configuration.MailText(.optionalFile("\(folder)/\(mail).txt"))
                template.html = Configuration.MailText(.optionalFile("\(folder)/\(mail).html"))
            }
            delivery.templates.mails[Name(mail)] = template
        }
        return delivery
    }
}
