import JSON

/// Converts the options of parse-server's adapters for HTTP mail services, such as SendGrid.
enum ServiceMailAdapters {
    /// Converts the SendGrid adapter. Emails with a configured template id use SendGrid's template.
    static func sendGrid(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        let sender = try options.sender("fromAddress", "from")
        let key = try options.needed("apiKey")
        let head =
            #"{"personalizations":[{"to":[{"email":"{{to}}"}]"#
            + #"{{#templateData}},"dynamic_template_data":{"link":"{{link}}","appName":"{{appName}}","email":"{{email}}"}"#
            + #"{{/templateData}}}],"from":{"email":"{{fromAddress}}"{{#fromName}},"name":"{{fromName}}"{{/fromName}}}"#
        let body =
            head + #","subject":"{{subject}}","content":[{"type":"text/plain","value":"{{text}}"}"#
            + #"{{#html}},{"type":"text/html","value":"{{html}}"}{{/html}}]}"#
        var bodies: [Name: Configuration.HTTPMail.Body] = [:]
        for (mail, keys) in [
            ("passwordResetEmail", ["passwordResetEmailTemplate", "passwordResetTemplate"]),
            ("verificationEmail", ["verificationEmailTemplate", "verificationTemplate"]),
        ] {
            var id: String?
            for key in keys {
                let text = try options.text(Name(key))
                id = id ?? text
            }
            guard let id else { continue }
            let quoted = JSONValue.string(id).text
            let text = head.replacing("{{#templateData}}", with: "").replacing("{{/templateData}}", with: "")
            bodies[Name(mail)] = .text(text + #","template_id":\#(quoted)}"#)
        }
        return Configuration.MailDelivery(
            sender: sender,
            transport: .http(
                Configuration.HTTPMail(
                    method: "POST", url: "https://api.sendgrid.com/v3/mail/send",
                    headers: [("Authorization", "Bearer \(key)")], body: .text(body), bodies: bodies)))
    }

    private static let templatesOfService = ["passwordReset", "verification"].flatMap { mail in
        ["TemplateId", "TemplateName", "TemplateAlias"].map { mail + $0 }
    }

    static func postmark(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        try service(
            &options, "https://api.postmarkapp.com/email",
            withTemplate: #"https://api.postmarkapp.com/email/withTemplate","#
                + #""headers":{"X-Postmark-Server-Token":"…"},"body":{"From":"{{from}}","To":"{{to}}","#
                + #""TemplateAlias":"…","TemplateModel":{"link":"{{link}}"}}}}"#,
            { [("X-Postmark-Server-Token", $0)] },
            { _ in
                [
                    "From": "{{from}}", "To": "{{to}}", "ReplyTo": "{{replyTo}}", "Subject": "{{subject}}",
                    "TextBody": "{{text}}", "HtmlBody": "{{html}}",
                ]
            })
    }

    static func mandrill(_ options: inout AdapterOptions) throws(ConfigurationError) -> Configuration.MailDelivery {
        try service(
            &options, "https://mandrillapp.com/api/1.0/messages/send.json",
            withTemplate: #"https://mandrillapp.com/api/1.0/messages/send-template.json","body":{"key":"…","#
                + #""template_name":"…","message":{"to":[{"email":"{{to}}"}],…}}}}"#,
            { _ in [] },
            { key in
                [
                    "key": .string(key),
                    "message": [
                        "from_email": "{{fromAddress}}", "from_name": "{{fromName}}", "to": [["email": "{{to}}"]],
                        "subject": "{{subject}}", "text": "{{text}}", "html": "{{html}}",
                        "headers": ["Reply-To": "{{replyTo}}"],
                    ],
                ]
            })
    }

    /// - Parameter example: The end of an `http` adapter that uses a template of the service, beginning with its URL.
    private static func service(
        _ options: inout AdapterOptions, _ url: String, withTemplate example: String,
        _ headers: (String) -> [(name: String, value: String)], _ body: (String) -> JSONValue
    ) throws(ConfigurationError) -> Configuration.MailDelivery {
        for key in templatesOfService where options.value(Name(key)) != nil {
            throw options.refusal(
                key, "set the service's template in the request body instead",
                #"Use {"module":"http","options":{"from","url":""# + example)
        }
        let address = try options.sender("fromEmail", "fromAddress")
        let name = try options.text("displayName")
        let key = try options.needed("apiKey")
        var delivery = Configuration.MailDelivery(
            sender: name.map { "\($0) <\(address)>" } ?? address,
            transport: .http(
                Configuration.HTTPMail(
                    method: "POST", url: url, headers: headers(key), body: .json(body(key)), bodies: [:])))
        delivery.replyTo = try options.text("replyTo")
        delivery.templates = try ParseServerMailAdapter.bodies(&options, .star)
        delivery.templates.userFields = try options.columns("customUserAttributesMergeTags")
        return delivery
    }
}
