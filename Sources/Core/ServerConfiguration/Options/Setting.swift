import JSON

/// What an option is set to, and by what; without secrets.
public struct Setting: Sendable {
    /// What says what an option is set to: the last of them that says something.
    public enum Source: String, Sendable {
        case flag, environment, file, preset, `default`
    }

    /// The option, and what it is about.
    public let name: String, group: String
    /// What it is set to; nil for a secret that is set, and for what has no value.
    public let value: JSONValue?
    /// What it would be otherwise, in words.
    public let defaultWords: String?
    /// A value to start from where none is shown: what the mails of a mail adapter say, or an example. nil for most options.
    public let example: JSONValue?
    /// Whether a value is there and not shown.
    public let isSecret: Bool
    /// What says so.
    public let source: Source
    /// The flag or the variables of the environment that say so.
    public let from: [String]
    /// What the option is for.
    public let meaning: String
    /// Whether it has an effect.
    public let isBuilt: Bool

    /// All options.
    ///
    /// - Parameter given: What the options that are given are set to, by their names.
    static func all(_ given: [String: Given], preset: Int) -> [Setting] {
        OptionTable.sections.flatMap { section in
            section.options.map { option in
                let defaults = option.defaults
                let words = defaults[preset - 4]
                let given = given[option.name]
                let isShown = Setting.shown.contains(option.name) || [.boolean, .number].contains(option.kind)
                return Setting(
                    name: option.name, group: section.title,
                    value: isShown
                        ? given.map { named.contains(option.name) ? $0.value : withoutSecrets($0.value) } : nil,
                    defaultWords: words, example: example(option, given),
                    isSecret: given != nil && !isShown,
                    source: given?.source ?? (words == defaults.last ?? nil ? .default : .preset),
                    from: given?.from ?? [], meaning: option.summary, isBuilt: option.support == .built)
            }
        }
    }

    private static func example(_ option: OptionDefinition, _ given: Given?) -> JSONValue? {
        if let given, option.name == "emailAdapter" { return mailTexts(given.value) }
        return OptionDefinition.examples[option.name].flatMap { try? JSONValue(parsing: Array($0.utf8)) }
    }

    /// Members of a mail adapter's options that hold no credentials.
    private static let mailMembers: Set<Name> = [
        "from", "replyTo", "templates", "placeholders", "userFields", "localeField", "localeFromRequest",
    ]

    /// A mail adapter with what its mails say. Its other options may be secrets, whatever they are called.
    private static func mailTexts(_ value: JSONValue) -> JSONValue {
        guard var adapter = value.objectValue else { return .string(mask) }
        if let options = adapter["options"]?.objectValue {
            adapter["options"] = .object(
                JSONObject(
                    uniqueKeysWithValues: options.map { name, value in
                        (name, mailMembers.contains(name) ? value : .string(mask))
                    }))
        }
        return .object(adapter.filter { ["module", "options"].contains($0.key) })
    }

    struct Given: Sendable {
        private(set) var value: JSONValue
        let source: Source
        let from: [String]

        init(_ value: JSONValue, _ source: Source, _ from: [String] = []) {
            (self.value, self.source, self.from) = (value, source, from)
        }

        /// The same with what the option has come to.
        func with(_ value: JSONValue) -> Given {
            var given = self
            given.value = value
            return given
        }
    }

    /// Options that say names of fields, which are no secrets whatever they are called.
    private static let named: Set<String> = ["protectedFields", "requestKeywordDenylist", "userSensitiveFields"]

    /// Options beside numbers and switches whose values are no secrets. What is not named here is not shown.
    private static let shown: Set<String> = [
        "consoleFolder", "dataDir", "filesDirectory", "classDefinitions", "indexAdvice", "appId", "serverURL",
        "publicServerURL", "host", "mountPath", "trustedCertificates", "appName", "cloud", "cloudNode",
        "cloudApp", "publicFolder",
        "rateLimitStore", "encryptionFormat", "logLevel", "tracingProtocol",
        "tracingServiceName", "tracingSampler", "tracingSamplerArgument", "trustProxy", "rateLimit",
        "requestKeywordDenylist", "routeAllowList", "masterKeyIps", "maintenanceKeyIps", "readOnlyMasterKeyIps",
        "allowHeaders", "allowOrigin", "userSensitiveFields", "maxObjectSize", "maxTriggerSize", "transferMemory",
        "maxUploadSize", "maxResponseSize", "console", "databaseOptions", "databaseSchema",
        "distribution",
        "audit",
        "protectedFields",
        "installation", "passwordPolicy", "accountLockout", "pages", "customPages", "fileUpload", "fileDownload",
        "idempotencyOptions", "requestComplexity", "liveQuery", "liveQueryServerOptions", "logLevels", "metrics",
        "security", "https",
    ]

    /// Parts of names of members whose values are not shown.
    private static let secretParts = ["key", "secret", "password", "token", "passphrase", "uri", "url", "header"]

    /// A value in which members with secrets are `•••`, and addresses name no user.
    static func withoutSecrets(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(withoutUser(text))
        case .array(let list): .array(list.map(withoutSecrets))
        case .object(let object):
            .object(
                JSONObject(
                    uniqueKeysWithValues: object.map { name, value in
                        let lowercased = name.text.lowercased()
                        let isFlag = value.boolValue != nil || value.numberValue != nil || value.isNull
                        let isSecret = !isFlag && secretParts.contains { lowercased.contains($0) }
                        return (name, isSecret ? .string(mask) : withoutSecrets(value))
                    }))
        default: value
        }
    }

    /// What stands in the place of a secret.
    package static let mask = "•••"

    /// An address without user, password and query.
    package static func withoutUser(_ text: String) -> String {
        guard let scheme = text.firstRange(of: "://") else { return text }
        let rest = text[scheme.upperBound...].prefix { $0 != "?" && $0 != "#" }
        let authority = rest.prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(text[..<scheme.upperBound] + rest) }
        return String(text[..<scheme.upperBound]) + mask + rest[at...]
    }
}

extension Configuration {
    /// All options with what they are set to, and by what; without secrets.
    public var settings: [Setting] { Setting.all(given, preset: preset) }
}
