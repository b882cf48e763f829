import JSON

/// The value of an option at startup and its source, without secrets.
public struct Setting: Sendable {
    /// The source of an option's value, in order of precedence.
    public enum Source: String, Sendable {
        case flag, environment, file, preset, `default`
    }

    /// The name of the option, and the title of its section.
    public let name: String, group: String
    /// The explicitly set value, or nil if it is secret or not set.
    public let value: JSONValue?
    /// The default in words, or nil if it isn't shown.
    public let defaultWords: String?
    /// An example value to edit, or nil for most options.
    public let example: JSONValue?
    /// Lines for the configuration file that set the option, to an example or the default if its value isn't set or
    /// contains secrets.
    public let lines: JSONObject
    /// Whether the option is set but its value isn't shown, because it may be secret.
    public let isSecret: Bool
    public let source: Source
    /// The flag or the environment variables that set the option, or an empty list.
    public let from: [String]
    /// The meaning of the option in one line.
    public let meaning: String
    /// Whether the server supports the option.
    public let isBuilt: Bool

    /// Returns the settings of all options.
    ///
    /// - Parameter given: The values that are set explicitly, by option name.
    static func all(_ given: [String: Given], preset: Int) -> [Setting] {
        OptionTable.sections.flatMap { section in
            section.options.map { option in
                let defaults = option.defaults
                let words = defaults[preset - 4]
                let given = given[option.name]
                let example = OptionDefinition.examples[option.name].flatMap { try? JSONValue(parsing: Array($0.utf8)) }
                let isDisplayed = Setting.displayed.contains(option.name) || [.boolean, .number].contains(option.kind)
                let value =
                    isDisplayed ? given.map { named.contains(option.name) ? $0.value : withoutSecrets($0.value) } : nil
                return Setting(
                    name: option.name, group: section.title, value: value, defaultWords: words, example: example,
                    lines: lines(
                        of: option, value == given?.value ? value : nil, example: example, defaultWords: words),
                    isSecret: given != nil && !isDisplayed,
                    source: given?.source ?? (words == defaults.last ?? nil ? .default : .preset),
                    from: given?.from ?? [], meaning: option.summary, isBuilt: option.support == .built)
            }
        }
    }

    struct Given: Sendable {
        var value: JSONValue
        let source: Source
        let from: [String]
    }

    /// Options that contain no secrets, although members have names such as `key`.
    private static let named: Set<String> = [
        "protectedFields", "requestKeywordDenylist", "userSensitiveFields", "https", "rateLimit",
    ]

    /// Options whose values are shown, in addition to numbers and Booleans. Secret members are masked.
    private static let displayed: Set<String> = [
        "consoleFolder", "dataDir", "filesDirectory", "classDefinitions", "indexAdvice", "appId", "serverURL",
        "publicServerURL", "host", "mountPath", "trustedCertificates", "appName", "cloud", "cloudNode", "cloudApp",
        "publicFolder", "rateLimitStore", "encryptionFormat", "logLevel", "tracingProtocol", "tracingServiceName",
        "tracingSampler", "tracingSamplerArgument", "trustProxy", "rateLimit", "requestKeywordDenylist",
        "routeAllowList", "masterKeyIps", "maintenanceKeyIps", "readOnlyMasterKeyIps", "allowHeaders", "allowOrigin",
        "userSensitiveFields", "maxObjectSize", "maxTriggerSize", "transferMemory", "maxUploadSize", "maxResponseSize",
        "console", "databaseOptions", "databaseSchema", "distribution", "audit", "protectedFields", "installation",
        "passwordPolicy", "accountLockout", "pages", "customPages", "fileUpload", "fileDownload", "idempotencyOptions",
        "requestComplexity", "liveQuery", "liveQueryServerOptions", "logLevels", "metrics", "security", "https",
    ]

    /// Words that mark a member as secret if its name contains one of them.
    private static let secretParts = ["key", "secret", "password", "token", "passphrase", "uri", "url", "header"]

    /// Returns the value with secret members and credentials in URLs masked.
    static func withoutSecrets(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(withoutCredentials(text))
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

    /// The replacement for a secret.
    package static let mask = "•••"

    /// Returns a text, such as an error message, with the credentials in URIs, `user:password@host` and `password=…`
    /// masked, and without the queries and fragments of URIs.
    package static func withoutCredentials(_ text: String) -> String {
        // A password may contain unescaped delimiters, so it extends to the last @ of the line.
        text.replacing(#/:\/\/(?!\/).*@/#) { _ in "://\(mask)@" }
            .replacing(#/[^\s\/:'"@]+:(?!\/\/)\S+@/#) { _ in mask + "@" }
            .replacing(#/(:\/\/[^\s?#]*)[?#][^\s'"]*/#) { String($0.1) }
            .replacing(#/(?i)(password=)[^\s&'"]+/#) { $0.1 + mask }
    }
}

extension Configuration {
    /// The values of all options at startup and their sources, without secrets.
    public var settings: [Setting] { Setting.all(given, preset: preset) }
}
