import JSON
import ServerConfiguration

/// The features that a deployment adds to the backend.
public struct BackendExtensions: Sendable {
    /// The triggers, or nil for none. The server replaces nil with those of cloud code and webhooks.
    public var triggers: (any TriggerSet)?
    public var observers: [any ChangeObserver] = []
    /// The mailer for account emails, or nil if no mail adapter is configured.
    public var mailer: (any Mailer)?
    /// The push notifications, or nil for none. The server replaces nil with its own.
    public var pusher: (any Pusher)?
    /// The background jobs, or nil for none. The server replaces nil with those of cloud code.
    public var jobs: (any JobSet)?
    public var clock = WallClock.system
    /// The interval between checks of the job schedules.
    public var schedulePause = Duration.seconds(5)
    /// Additional auth providers by name.
    public var authProviders: [Name: any AuthProvider] = [:]
    /// Evaluates options that are functions in the app's `index.js`, or nil if nothing needs Node.js.
    package var askOption: AskOption?

    /// Evaluates an option that is a function.
    package typealias AskOption =
        @Sendable (_ option: Configuration.OptionFunction, _ request: JSONObject) async throws -> Bool

    public init() {}

    /// Adds auth providers. If a name is taken, the provider added first takes precedence.
    public mutating func addProviders(_ providers: [Name: any AuthProvider]) {
        authProviders.merge(providers) { own, _ in own }
    }

    /// All auth providers, including the built-in anonymous one.
    var allAuthProviders: [Name: any AuthProvider] {
        authProviders.merging(["anonymous": AnonymousProvider()]) { added, _ in added }
    }

    private static let unbuiltProviders: Set<Name> = [
        "janraincapture", "janrainengage", "ldap", "meetup", "phantauth", "qq", "vkontakte", "wechat", "weibo",
    ]

    /// Checks that every configured auth provider exists and accepts its options.
    ///
    /// - Returns: Warnings about options that have no effect or are unsafe.
    /// - Throws: `ConfigurationError` that names the option.
    public func checkProviders(_ configuration: Configuration) throws(ConfigurationError) -> [String] {
        var warnings: [String] = []
        for (name, value) in configuration.auth {
            // A disabled provider needn't be available.
            let isOfApp = configuration.cloudMain.app?.providers.contains(name) == true
            if value["enabled"] == false, value["module"] != nil || isOfApp || Self.unbuiltProviders.contains(name) {
                continue
            }
            guard let provider = allAuthProviders[name] else {
                if Self.unbuiltProviders.contains(name) {
                    throw ConfigurationError("option auth.\(name) is not supported. Remove it, or set its module")
                }
                throw ConfigurationError("error: unknown option auth.\(name)")
            }
            guard value.objectValue != nil || value.isNull else {
                throw ConfigurationError("option auth.\(name) must be an object")
            }
            let options = value.objectValue ?? [:]
            let isEnabled = options["enabled"] != false
            if isEnabled { try provider.check(name, options) }
            let forms = (provider.optionForms ?? [:]).merging(["enabled": .flag]) { $1 }
            for (key, form) in forms {
                guard let value = options[key], !form.accepts(value) else { continue }
                throw ConfigurationError("option auth.\(name).\(key) must be \(form.title)")
            }
            if provider.optionForms != nil {
                warnings += options.keys.filter { forms[$0] == nil }.map {
                    "option auth.\(name).\($0) has no effect"
                }
            }
            if isEnabled { warnings += provider.warnings(name, options) }
        }
        return warnings
    }
}
