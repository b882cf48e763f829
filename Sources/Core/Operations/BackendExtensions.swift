import JSON
import ServerConfiguration

/// What a deployment adds to the rules.
public struct BackendExtensions: Sendable {
    /// What runs before and after objects are saved and deleted; nil for nothing.
    public var triggers: (any TriggerSet)?
    /// Who wants to know what became of objects.
    public var observers: [any ChangeObserver] = []
    /// What sends mails for accounts; nil for nothing.
    public var mailer: (any Mailer)?
    /// What sends notifications; nil for nothing.
    public var pusher: (any Pusher)?
    /// The jobs that administrators may start; nil for none.
    public var jobs: (any JobSet)?
    /// The clock.
    public var clock = WallClock.system
    /// How long it takes from one look at the schedules of jobs to the next.
    public var schedulePause = Duration.seconds(5)
    /// Ways to log in besides the built-in ones, by the names that clients know them by.
    public var authProviders: [Name: any AuthProvider] = [:]
    /// Calls an option that is a function of the app, or nil if there are none.
    package var askOption: AskOption?

    /// Calls an option that is a function.
    package typealias AskOption =
        @Sendable (_ option: Configuration.OptionFunction, _ request: JSONObject) async throws -> Bool

    /// Adds nothing.
    public init() {}

    /// Adds ways to log in, where the deployment has none of its own by their names.
    public mutating func addProviders(_ providers: [Name: any AuthProvider]) {
        authProviders.merge(providers) { own, _ in own }
    }

    /// The ways to log in, the built-in ones included.
    var allAuthProviders: [Name: any AuthProvider] {
        authProviders.merging(["anonymous": AnonymousProvider()]) { added, _ in added }
    }

    private static let unbuiltProviders: Set<Name> = [
        "janraincapture", "janrainengage", "ldap", "meetup", "phantauth", "qq", "vkontakte", "wechat", "weibo",
    ]

    /// Checks that there is each login provider that a configuration speaks of, and that it can work with its options.
    ///
    /// - Returns: Warnings for the operator: options that have no effect, and those that are taken and unsafe.
    /// - Throws: `ConfigurationError` that names the option.
    public func checkProviders(_ configuration: Configuration) throws(ConfigurationError) -> [String] {
        var warnings: [String] = []
        for (name, value) in configuration.auth {
            // What is not there is as good as switched off.
            let isOfApp = configuration.cloudMain.app?.providers.contains(name) == true
            if value["enabled"] == false, value["module"] != nil || isOfApp || Self.unbuiltProviders.contains(name) {
                continue
            }
            let isOwn = value["module"] != nil || configuration.nodeProviders[name] != nil
            if isOwn, allAuthProviders[name]?.runsModule != true {
                throw ConfigurationError(
                    "option auth.\(name).module: adapters in JavaScript can't replace a provider of Roost's. An issuer "
                        + "of OpenID Connect is named by issuer and clientId, a service of OAuth 2 by oauth2; docs/accounts.md has both"
                )
            }
            guard let provider = allAuthProviders[name] else {
                if Self.unbuiltProviders.contains(name) {
                    throw ConfigurationError("option auth.\(name): this provider is not supported")
                }
                throw ConfigurationError("error: unknown option auth.\(name)")
            }
            guard value.objectValue != nil || value.isNull else {
                throw ConfigurationError("option auth.\(name) has an invalid value")
            }
            let options = value.objectValue ?? [:]
            let isEnabled = options["enabled"] != false
            if isEnabled { try provider.check(name, options) }
            let forms = (provider.optionForms ?? [:]).merging(["enabled": .flag]) { $1 }
            for (key, form) in forms {
                guard let value = options[key], !form.takes(value) else { continue }
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
