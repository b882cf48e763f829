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
    /// Ways to log in besides the built-in ones, by the names that clients know them by.
    public var authProviders: [Name: any AuthProvider] = [:]

    /// Adds nothing.
    public init() {}

    /// The ways to log in, the built-in ones included.
    var allAuthProviders: [Name: any AuthProvider] {
        authProviders.merging(["anonymous": AnonymousProvider()]) { added, _ in added }
    }

    /// Checks that there is each login provider that a configuration speaks of.
    ///
    /// - Throws: `ConfigurationError` that names the option.
    public func checkProviders(_ configuration: Configuration) throws(ConfigurationError) {
        for (name, options) in configuration.auth {
            guard allAuthProviders[name] != nil else {
                throw ConfigurationError("error: unknown option auth.\(name)")
            }
            guard options.objectValue != nil || options.isNull else {
                throw ConfigurationError("Key auth.\(name) has invalid value \(options.text)")
            }
        }
    }
}
