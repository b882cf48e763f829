import JSON

/// Those adapters of parse-server that send by SMTP.
enum SMTPMailAdapters {
    private static let certificates =
        "Certificates are always checked: name that of your authority in the option "
        + "trustedCertificates"

    /// parse-smtp-template: files of HTML with `${x}`.
    static func template(_ options: inout MailAdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        let isSecure = try options.flag("secure") ?? false
        let sender = try options.sender("fromAddress", "user")
        let server = Configuration.SMTP(
            host: try options.needed("host"), port: try options.port("port", isSecure ? 465 : 587), isSecure: isSecure,
            user: try options.text("user"), password: try options.text("password"))
        var delivery = Configuration.MailDelivery(sender: sender, transport: .smtp(server))
        delivery.templates.syntax = .dollar
        let single = try options.flag("template") == true ? try options.text("templatePath") : nil
        let isMulti = try options.flag("multiTemplate") ?? false
        let hasLanguages = try options.flag("multiLang") ?? false
        if hasLanguages { delivery.templates.localeField = "lang" }
        _ = options.value("templatePath")
        for (mail, kind, key) in [
            ("verificationEmail", "confirm", "multiLangConfirm"), ("passwordResetEmail", "password", "multiLangPass"),
        ] {
            let file = try options.text(Name("\(kind)TemplatePath"))
            let texts = try options.object(Name("\(kind)Options")) ?? [:]
            let languages = try options.object(Name(key)) ?? [:]
            var template = Configuration.MailTemplate()
            template.placeholders = shown(texts)
            template.subject = Configuration.MailText(texts["subject"].map { .inline($0.stringValue ?? "") })
            for (locale, value) in hasLanguages ? languages : [:] {
                guard let own = value.objectValue else { continue }
                template.placeholdersByLocale[locale] = shown(own)
                if let subject = own["subject"]?.stringValue { template.subject?.byLocale[locale] = .inline(subject) }
            }
            if let path = isMulti ? file : single {
                template.html = Configuration.MailText(.file(path))
            } else if texts["body"]?.stringValue != nil {
                template.text = Configuration.MailText(.inline("${body}\n\n${link}\n"))
            }
            if template.subject?.base == nil, template.subject?.byLocale.isEmpty == true { template.subject = nil }
            delivery.templates.mails[Name(mail)] = template
        }
        return delivery
    }

    /// Texts of parse-smtp-template, which stand as `${body}` and as `${options.body}`.
    private static func shown(_ texts: JSONObject) -> JSONObject {
        texts.merging(["options": .object(texts)]) { $1 }
    }

    /// simple-parse-smtp-adapter.
    static func simple(_ options: inout MailAdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        let isSecure = try options.flag("isSSL") ?? false
        if try options.flag("isTlsRejectUnauthorized") == false {
            throw options.refusal("isTlsRejectUnauthorized", "false is refused", certificates)
        }
        if try options.text("emailField").map({ $0 != "email" }) ?? false {
            throw options.refusal("emailField", "mails go to the column email", "Leave it out")
        }
        if options.value("templates") != nil {
            throw options.refusal("templates", "templates of Jade cannot be shown", own)
        }
        let service = try options.text("service")
        guard let host = try options.text("host") ?? service.flatMap(host) else {
            throw options.refusal(
                "service", service.map { "\($0) is not known" } ?? "it is missing", "Name the server in host and port")
        }
        let sender = try options.sender("fromAddress", "user")
        let server = Configuration.SMTP(
            host: host, port: try options.port("port", isSecure ? 465 : 587), isSecure: isSecure,
            user: try options.text("user"), password: try options.text("password"), clientName: try options.text("name")
        )
        return Configuration.MailDelivery(sender: sender, transport: .smtp(server))
    }

    /// The servers that nodemailer knows by name, those that are often named.
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

    /// parse-mail-adapter-smtp-ejs.
    static func ejs(_ options: inout MailAdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        if options.value("templatesOptions") != nil {
            throw options.refusal("templatesOptions", "templates of EJS cannot be shown", own)
        }
        var mailer = try options.nested("nodeMailerOptions")
        if mailer.value("tls")?["rejectUnauthorized"] == false {
            throw options.refusal("nodeMailerOptions.tls.rejectUnauthorized", "false is refused", certificates)
        }
        let server = try server(&mailer)
        return Configuration.MailDelivery(sender: try options.sender("defaultFrom"), transport: .smtp(server))
    }

    private static func server(_ options: inout MailAdapterOptions) throws(ConfigurationError) -> Configuration.SMTP {
        let isSecure = try options.flag("secure") ?? false
        var login = try options.nested("auth")
        return Configuration.SMTP(
            host: try options.needed("host"), port: try options.port("port", isSecure ? 465 : 587), isSecure: isSecure,
            user: try login.text("user"), password: try login.text("pass"))
    }

    /// @openinc/parse-server-smtp-adapter: files with `{{ link }}`, found by their names.
    static func openinc(_ options: inout MailAdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        if try options.text("emailAttribute").map({ $0 != "email" }) ?? false {
            throw options.refusal("emailAttribute", "mails go to the column email", "Leave it out")
        }
        let server = try server(&options)
        var delivery = Configuration.MailDelivery(sender: try options.sender("from"), transport: .smtp(server))
        delivery.templates.localeField = try options.text("languageAttribute").map { Name($0) }
        if let field = delivery.templates.localeField {
            try MailAdapterOptions.checkColumn(field, "languageAttribute")
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
