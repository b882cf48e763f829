import JSON

/// Converts the options of parse-server's mail adapters, by package name.
enum ParseServerMailAdapter {
    /// Returns Roost's equivalent of an adapter, or nil if the adapter is unknown.
    ///
    /// - Throws: `ConfigurationError` with a replacement if the adapter can't be converted.
    static func delivery(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery? {
        switch package(options.module) {
        case "simple-mailgun-adapter", "parse-server-simple-mailgun-adapter",
            "parse-server-simple-mailgun-adapter-template":
            adding(try .mailgun(&options), try bodies(&options, .percent))
        case "parse-server-mailgun", "parse-server-mailgun-adapter-template":
            adding(try .mailgun(&options), try files(&options))
        case "parse-server-api-mail-adapter": throw apiMail(options.module)
        case "parse-smtp-template": try SMTPMailAdapters.template(&options)
        case "simple-parse-smtp-adapter": try SMTPMailAdapters.simple(&options)
        case "parse-mail-adapter-smtp-ejs": try SMTPMailAdapters.ejs(&options)
        case "parse-server-smtp-adapter": try SMTPMailAdapters.openinc(&options)
        case "parse-server-amazon-ses-adapter", "parse-server-amazon-ses-email-adapter":
            adding(try .ses(&options), try files(&options))
        case "parse-server-simple-ses-adapter": try simpleAmazon(&options)
        case "parse-server-sendgrid-adapter", "parse-server-sendgrid-email-adapter":
            try ServiceMailAdapters.sendGrid(&options)
        case "parse-server-postmark-adapter": try ServiceMailAdapters.postmark(&options)
        case "parse-server-mandrill-adapter": try ServiceMailAdapters.mandrill(&options)
        default: nil
        }
    }

    private static func package(_ module: String) -> String {
        module.utf8.first == UInt8(ascii: "@") ? String(module.split(separator: "/").last ?? "") : module
    }

    /// Returns the error for an unknown module, which suggests the most similar transport.
    static func unknown(_ module: String) -> ConfigurationError {
        let name = module.lowercased()
        let nearest: String
        if name.contains("mailgun") {
            nearest = #"{"module":"mailgun","options":{"from","domain","apiKey"}}"#
        } else if name.contains("ses") || name.contains("amazon") || name.contains("aws") {
            nearest = #"{"module":"ses","options":{"from","region","accessKeyId","secretAccessKey"}}"#
        } else if ["mailjet", "brevo", "sendinblue", "elastic", "resend", "sendgrid", "postmark", "mandrill", "api"]
            .contains(where: name.contains)
        {
            nearest =
                #"{"module":"http","options":{"from","url","headers","body"}}, or by SMTP: "#
                + #"{"module":"smtp","options":{"host","port","secure","from","user","password"}}"#
        } else {
            nearest = #"{"module":"smtp","options":{"host","port","secure","from","user","password"}}"#
        }
        return ConfigurationError(
            "option emailAdapter.module: \(module) is neither built in nor installed in node_modules. Every mail provider "
                + "accepts SMTP, and many HTTP. Use \(nearest)")
    }

    /// Returns the error for an adapter whose transport is a JavaScript function. Only its templates can be reused.
    private static func apiMail(_ module: String) -> ConfigurationError {
        ConfigurationError(
            "option emailAdapter.module: \(module) sends emails with the function apiCallback, which Roost can't run. "
                + #"Keep its templates, rename sender to from, and configure a provider: {"module":"mailgun","options":"#
                + #"{"from","domain","apiKey","templates":{"passwordResetEmail":{"subjectPath","textPath","htmlPath"},…}}}"#
                + #", or "ses", "smtp", "http". Use userFields instead of placeholderCallback, and localeField instead of localeCallback"#
        )
    }

    private static func adding(
        _ delivery: Configuration.MailDelivery, _ templates: Configuration.MailTemplates
    ) -> Configuration.MailDelivery {
        var delivery = delivery
        delivery.templates = templates
        return delivery
    }

    /// Reads inline templates from options such as `verificationSubject` and `verificationBody`.
    static func bodies(_ options: inout AdapterOptions, _ syntax: Configuration.MailTemplates.Syntax)
        throws(ConfigurationError) -> Configuration.MailTemplates
    {
        var templates = Configuration.MailTemplates()
        templates.syntax = syntax
        for (mail, prefix) in [("verificationEmail", "verification"), ("passwordResetEmail", "passwordReset")] {
            var template = Configuration.MailTemplate()
            template.subject = try inline(&options, "\(prefix)Subject")
            template.text = try inline(&options, "\(prefix)Body")
            template.html = try inline(&options, "\(prefix)BodyHTML")
            templates.mails[Name(mail)] = template
        }
        return templates
    }

    private static func inline(_ options: inout AdapterOptions, _ key: String) throws(ConfigurationError)
        -> Configuration.MailText?
    {
        try options.lines(Name(key)).map { Configuration.MailText(.inline($0)) }
    }

    private static func files(_ options: inout AdapterOptions) throws(ConfigurationError)
        -> Configuration.MailTemplates
    {
        var templates = Configuration.MailTemplates()
        try options.nested("templates") { mails throws(ConfigurationError) in
            for name in Configuration.MailTemplates.names where mails.value(name) != nil {
                templates.mails[name] = try mails.nested(name, file)
            }
        }
        return templates
    }

    private static func file(_ mail: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailTemplate {
        if mail.value("callback") != nil {
            throw mail.refusal(
                "callback", "it is a JavaScript function",
                "Use the module mailgun or ses, and list the user fields that emails need in userFields")
        }
        var template = Configuration.MailTemplate()
        template.subject = try mail.text("subject").map { .init(.inline($0)) }
        template.text = .init(.file(try mail.needed("pathPlainText")))
        template.html = try mail.text("pathHtml").map { .init(.file($0)) }
        return template
    }

    /// Converts parse-server-simple-ses-adapter. Its options contain the region only in the service's URL, such as
    /// `https://email.eu-west-1.amazonaws.com`.
    private static func simpleAmazon(_ options: inout AdapterOptions) throws(ConfigurationError)
        -> Configuration.MailDelivery
    {
        let sender = try options.sender("fromAddress")
        let endpoint = try options.url("amazon") ?? "https://email.us-east-1.amazonaws.com"
        let host = endpoint.split(separator: "/").last ?? ""
        let parts = host.split(separator: ".")
        guard parts.count > 2, parts[0] == "email" else {
            throw options.refusal(
                "amazon", "\(endpoint) contains no region", #"Use {"module":"ses","options":{"from","region",…}}"#)
        }
        let service = Configuration.SES(
            region: String(parts[1]), accessKeyId: try options.needed("apiKey"),
            secretAccessKey: try options.needed("apiSecret"), sessionToken: nil, endpoint: endpoint)
        return Configuration.MailDelivery(sender: sender, transport: .ses(service))
    }
}
