public import JSON

extension Configuration {
    /// Templates that replace or extend Roost's own email texts.
    public struct MailTemplates: Sendable {
        /// The templates, by the email's name.
        public var mails: [Name: MailTemplate] = [:]
        public var syntax = Syntax.mustache
        /// Values available to all emails.
        public var placeholders: JSONObject = [:]
        /// The user fields available to templates.
        public var userFields: [Name] = []
        /// The user field that contains the language, or nil if there is none.
        public var localeField: Name?
        /// Whether the request's `Accept-Language` header is used if the user has no language.
        public var localeFromRequest = false

        /// The syntax of placeholders.
        public enum Syntax: Sendable {
            /// `{{x}}`
            case mustache
            /// `%x%`
            case percent
            /// `*|x|*`
            case star
            /// `${x}`
            case dollar
        }

        /// The emails that the server sends itself. Only cloud code sends templates with other names.
        public static let names: Set<Name> = [
            "verificationEmail", "passwordResetEmail", "emailChangedEmail", "passwordChangedEmail",
            "operatorInvitationEmail",
        ]

        mutating func resolvePaths(_ resolved: (String) -> String) {
            for name in mails.keys {
                for part in [\MailTemplate.subject, \.text, \.html] {
                    guard let text = mails[name]?[keyPath: part] else { continue }
                    mails[name]?[keyPath: part] = text.mapPaths(resolved)
                }
            }
        }
    }

    /// The template of one kind of email.
    public struct MailTemplate: Sendable {
        public var subject: MailText?
        public var text: MailText?
        public var html: MailText?
        /// Values available to this email.
        public var placeholders: JSONObject = [:]
        /// Values by language, which override ``placeholders``.
        public var placeholdersByLocale: [Name: JSONObject] = [:]
    }

    /// A part of an email, in one or more languages.
    public struct MailText: Sendable {
        /// The source of a text.
        public enum Source: Sendable, Equatable {
            case inline(String)
            /// A file. Translations have the same file name, in subfolders named after languages: `de/reset.html`.
            case file(String)
            /// A file like ``file(_:)`` that need not exist.
            case optionalFile(String)
        }

        /// The text for languages without their own text, or nil to use Roost's.
        public var base: Source?
        /// The texts by language.
        public var byLocale: [Name: Source]

        init(_ base: Source?, byLocale: [Name: Source] = [:]) {
            self.base = base
            self.byLocale = byLocale
        }

        func mapPaths(_ resolved: (String) -> String) -> MailText {
            func map(_ source: Source) -> Source {
                switch source {
                case .inline: source
                case .file(let path): .file(resolved(path))
                case .optionalFile(let path): .optionalFile(resolved(path))
                }
            }
            return MailText(base.map(map), byLocale: byLocale.mapValues(map))
        }
    }
}

extension Configuration.MailTemplates {
    /// Reads the template options that all of Roost's own modules share: `templates`, `placeholders`, `userFields`,
    /// `localeField` and `localeFromRequest`.
    ///
    /// - Throws: `ConfigurationError` that names the invalid option.
    init(_ options: inout AdapterOptions) throws(ConfigurationError) {
        self.init()
        placeholders = try options.object("placeholders") ?? [:]
        userFields = try options.columns("userFields")
        localeField = try options.text("localeField").map { Name($0) }
        if let localeField { try AdapterOptions.checkColumn(localeField, "localeField") }
        localeFromRequest = try options.flag("localeFromRequest") ?? false
        for (name, value) in try options.object("templates") ?? [:] {
            let path = "emailAdapter.options.templates.\(name)"
            let known = Self.names.sorted().map(\.text)
            guard Self.names.contains(name) || (known.nearest(to: name.text) == nil && Self.hasBody(value)) else {
                throw ConfigurationError(
                    "error: unknown option \(path). The built-in emails are \(known.joined(separator: ", ")). An email "
                        + "for Parse.Cloud.sendEmail needs a text or html")
            }
            guard let object = value.objectValue else { throw ConfigurationError("option \(path) must be an object") }
            mails[name] = try Configuration.MailTemplate(object, path)
        }
    }

    private static func hasBody(_ template: JSONValue) -> Bool {
        ["text", "textPath", "html", "htmlPath"].contains { template[$0]?.isNull == false }
    }
}

extension Configuration.MailTemplate {
    /// Reads a template in the format of parse-server-api-mail-adapter. Texts can also be inline.
    init(_ object: JSONObject, _ path: String) throws(ConfigurationError) {
        self.init()
        for key in object.keys {
            guard
                ["subject", "subjectPath", "text", "textPath", "html", "htmlPath", "placeholders", "extra"].contains(
                    key)
            else {
                if ["placeholderCallback", "localeCallback", "callback"].contains(key) {
                    throw ConfigurationError(
                        "option \(path).\(key) is a JavaScript function. Instead, list the user fields for emails "
                            + "in emailAdapter.options.userFields, and set localeField to the field with the language")
                }
                throw ConfigurationError("error: unknown option \(path).\(key)")
            }
        }
        if let extra = object["extra"], !extra.isNull, extra != [:] {
            throw ConfigurationError(
                "option \(path).extra is not supported. To set a reply address, use emailAdapter.options.replyTo")
        }
        subject = try Configuration.MailText(object, "subject", path)
        text = try Configuration.MailText(object, "text", path)
        html = try Configuration.MailText(object, "html", path)
        if let value = object["placeholders"], !value.isNull {
            guard let values = value.objectValue else {
                throw ConfigurationError("option \(path).placeholders must be an object")
            }
            placeholders = values
        }
    }
}

extension Configuration.MailText {
    /// Reads a part from a value (`subject`, a text or texts by language) or a file (`subjectPath`). Returns nil if
    /// both are missing.
    init?(_ object: JSONObject, _ part: String, _ path: String) throws(ConfigurationError) {
        if let value = object[Name(part)], !value.isNull {
            guard object[Name(part + "Path")]?.isNull ?? true else {
                throw ConfigurationError("options \(path).\(part) and \(path).\(part)Path can't be combined")
            }
            try self.init(inline: value, "\(path).\(part)")
        } else if let value = object[Name(part + "Path")], !value.isNull {
            guard let file = value.stringValue, !file.isEmpty else {
                throw .invalid("\(path).\(part)Path", "the path of a file")
            }
            self.init(.file(file))
        } else {
            return nil
        }
    }

    /// Reads a text, or texts by language: `{"default": "Hello", "de": "Hallo"}`.
    init(inline value: JSONValue, _ path: String) throws(ConfigurationError) {
        if let text = value.stringValue {
            self.init(.inline(text))
            return
        }
        guard let texts = value.objectValue, !texts.isEmpty else {
            throw .invalid(path, "a string, or an object of strings by language")
        }
        self.init(nil)
        for (locale, value) in texts {
            guard let text = value.stringValue else {
                throw .invalid("\(path).\(locale)", "a string")
            }
            if locale == "default" { base = .inline(text) } else { byLocale[locale] = .inline(text) }
        }
    }
}
