public import JSON

/// What a deployment adds to the rules.
public struct BackendExtensions: Sendable {
    /// What runs before and after objects are saved and deleted; nil for nothing.
    public var triggers: (any TriggerSet)?
    /// Who wants to know what became of objects; nil for nobody.
    public var observer: (any ChangeObserver)?
    /// Ways to log in besides the built-in ones, by the names that clients know them by.
    public var authProviders: [Name: any AuthProvider] = [:]

    /// Adds nothing.
    public init() {}
}
