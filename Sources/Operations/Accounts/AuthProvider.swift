import JSON
import ParseModel

/// Somebody who knows users: a way to log in other than by a password. A new one is a type with this method, and a line
/// where the server is put together.
public protocol AuthProvider: Sendable {
    /// Checks what a client says of its user.
    ///
    /// - Parameters:
    ///   - data: What the client sent for this provider: the `id` that the provider knows the user by, and what proves it.
    ///   - options: What the option `auth` says of this provider.
    /// - Throws: `ParseError` when it is not so.
    func validate(_ data: JSONObject, _ options: JSONObject) async throws
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
    private func provider(_ name: Name) throws(ParseError) -> (any AuthProvider, JSONObject) {
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
