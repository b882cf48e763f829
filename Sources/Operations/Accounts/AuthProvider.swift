public import JSON
import ParseModel
public import ServerConfiguration

/// Somebody who knows users: a way to log in other than by a password. A new one is a type with the method ``validate``,
/// and a line where the server is put together.
public protocol AuthProvider: Sendable {
    /// Refuses options that the provider cannot work with. Called once, before the server starts.
    ///
    /// - Parameters:
    ///   - name: The name of the provider in the option `auth`, for the text of the error.
    ///   - options: What the option `auth` says of it.
    /// - Throws: `ConfigurationError` that names the option.
    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError)

    /// What a client sent, as users are looked up by it and as it is stored. A provider that takes codes gets the id and
    /// the token for the code here.
    ///
    /// - Returns: The data with an `id`, without what may be used only once.
    /// - Throws: `ParseError` when the provider does not know the code.
    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject

    /// Checks what a client says of its user.
    ///
    /// - Parameters:
    ///   - data: What the client sent for this provider: the `id` that the provider knows the user by, and what proves it.
    ///   - options: What the option `auth` says of this provider.
    /// - Throws: `ParseError` when it is not so.
    func validate(_ data: JSONObject, _ options: JSONObject) async throws

    /// What those who may read the login data of a user see of this provider's.
    func shown(_ data: JSONObject, _ options: JSONObject) -> JSONObject

    /// The members of a user's login data that are checked, but not kept.
    var unstored: Set<Name> { get }
}

extension AuthProvider {
    public func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {}
    public func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject { data }
    public func shown(_ data: JSONObject, _ options: JSONObject) -> JSONObject { data }
    public var unstored: Set<Name> { [] }
}

/// Users without an account: whoever draws an id is its user.
struct AnonymousProvider: AuthProvider {
    func validate(_ data: JSONObject, _ options: JSONObject) async throws {}
}

extension Backend {
    static let unsupported = ParseError(
        ParseError.unsupportedService, "This authentication method is unsupported.")

    /// The provider of a name, where the deployment has it.
    ///
    /// - Throws: 252.
    func provider(_ name: Name) throws(ParseError) -> (any AuthProvider, JSONObject) {
        let options = configuration.auth[name]?.objectValue ?? [:]
        let isEnabled = options["enabled"] != false && (name != "anonymous" || configuration.enableAnonymousUsers)
        guard isEnabled, let provider = authProviders[name] else { throw Self.unsupported }
        return (provider, options)
    }

    /// Refuses providers that the deployment does not have.
    ///
    /// - Throws: 252.
    func checkSupported(_ providers: JSONObject) throws(ParseError) {
        for name in providers.keys { _ = try provider(name) }
    }

    /// Has the providers check what a client says.
    ///
    /// - Throws: 252 for a provider that the deployment does not have; the provider's error.
    func validate(_ providers: JSONObject) async throws {
        try checkSupported(providers)
        for (name, data) in providers {
            let (provider, options) = try provider(name)
            try await provider.validate(data.objectValue ?? [:], options)
        }
    }
}
