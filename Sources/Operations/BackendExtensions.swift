import JSON
import ServerConfiguration

/// What a deployment adds to the rules.
public struct BackendExtensions: Sendable {
    /// What runs before and after objects are saved and deleted; nil for nothing.
    public var triggers: (any TriggerSet)?
    /// Who wants to know what became of objects; nil for nobody.
    public var observer: (any ChangeObserver)?
    /// What sends mails for accounts; nil for nothing.
    public var mailer: (any Mailer)?
    /// The jobs that administrators may start; nil for none.
    public var jobs: (any JobSet)?
    /// What time it is.
    public var clock = WallClock.system
    /// How long it takes from one look at the schedules of jobs to the next.
    public var schedulePause = Duration.seconds(5)
    /// Ways to log in besides the built-in ones, by the names that clients know them by.
    public var authProviders: [Name: any AuthProvider] = [:]

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

    /// Providers that parse-server has and Roost does not.
    private static let unbuiltProviders: Set<Name> = [
        "janraincapture", "janrainengage", "ldap", "meetup", "phantauth", "qq", "vkontakte", "wechat", "weibo",
    ]

    /// Checks that there is each login provider that a configuration speaks of.
    ///
    /// - Throws: `ConfigurationError` that names the option.
    public func checkProviders(_ configuration: Configuration) throws(ConfigurationError) {
        for (name, options) in configuration.auth {
            guard allAuthProviders[name] != nil else {
                if Self.unbuiltProviders.contains(name) {
                    throw ConfigurationError("option auth.\(name): this provider of parse-server's is not built")
                }
                throw ConfigurationError("error: unknown option auth.\(name)")
            }
            guard options.objectValue != nil || options.isNull else {
                throw ConfigurationError("Key auth.\(name) has invalid value \(options.text)")
            }
            try allAuthProviders[name]?.check(name, options.objectValue ?? [:])
        }
    }
}
