import JSON
import OrderedCollections
import ParseModel
import Rules

/// The provider identities and proofs in a request's `authData`, sorted by provider name.
struct ProviderClaims: Sendable {
    struct Claim: Sendable {
        let name: Name
        let provider: any AuthProvider
        let options: JSONObject
        /// The client's data, with an authorization code replaced by the id and token.
        let data: JSONObject

        /// The user's id at the provider, or nil for an additional factor.
        var id: String? { data["id"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
    }

    var claims: [Claim] = []

    var isEmpty: Bool { claims.isEmpty }
    /// The claims that identify a user.
    var identities: [Claim] { claims.filter { $0.id != nil } }
    /// The provider names for the session's `createdWith`.
    var names: String { claims.map(\.name).texts.joined(separator: ",") }

    func has(_ name: Name) -> Bool { claims.contains { $0.name == name } }
}

extension Providers {
    static let unsupported = ParseError(
        ParseError.unsupportedService, "This authentication method is unsupported.")
    static let alreadyLinked = ParseError(ParseError.accountAlreadyLinked, "this auth is already used")

    /// Returns the enabled provider with this name and its options.
    ///
    /// - Throws: 252 if the provider is unknown or disabled.
    func provider(_ name: Name) throws(ParseError) -> (any AuthProvider, JSONObject) {
        let options = configuration.auth[name]?.objectValue ?? [:]
        let isEnabled = options["enabled"] != false && (name != "anonymous" || configuration.enableAnonymousUsers)
        guard isEnabled, let provider = services.authProviders[name] else { throw Self.unsupported }
        return (provider, options)
    }

    /// Checks that all providers are known and enabled.
    ///
    /// - Throws: 252 if one isn't.
    func checkSupported(_ providers: JSONObject) throws(ParseError) {
        for name in providers.keys { _ = try provider(name) }
    }

    /// Returns the data of each provider, without empty data.
    ///
    /// - Throws: 252 if the data is malformed or has an id for an unavailable provider, 162 if an id isn't a string.
    ///   Presets below 9 also accept integers and convert them to strings.
    func named(_ authData: JSONValue?) throws(ParseError) -> JSONObject {
        guard let authData, !authData.isNull else { return [:] }
        guard let object = authData.objectValue else { throw Self.unsupported }
        var providers: JSONObject = [:]
        for (name, data) in object where !data.isNull {
            guard var fields = data.objectValue else { throw Self.unsupported }
            if let id = fields["id"], id.isTruthy {
                if configuration.preset < 9, let number = id.numberValue.flatMap({ Int64(exactly: $0) }) {
                    fields["id"] = .string("\(number)")
                } else if id.stringValue == nil {
                    throw ParseError(ParseError.invalidValue, "Invalid authData id for provider '\(name)'.")
                }
                _ = try provider(name)
            } else {
                // A provider may determine the id itself. Unknown providers without an id are ignored.
                guard !fields.isEmpty, (try? provider(name)) != nil else { continue }
            }
            providers[name] = .object(fields)
        }
        return providers
    }

    /// Converts the data with the providers, in the order of their names, up to the first error. Data that neither
    /// identifies a user nor proves a factor is dropped.
    func claims(_ providers: JSONObject) async throws -> ProviderClaims {
        var claims = ProviderClaims()
        for (name, data) in providers.sorted(by: { $0.key < $1.key }) {
            let (provider, options) = try provider(name)
            let known = try await hidingFailures(of: name) {
                try await provider.exchange(data.objectValue ?? [:], options)
            }
            let claim = ProviderClaims.Claim(name: name, provider: provider, options: options, data: known)
            if claim.id != nil || provider.policy(known) != .standard { claims.claims.append(claim) }
        }
        return claims
    }

    /// Runs a provider and replaces its errors with a generic one, except `ParseError` and cancellation.
    func hidingFailures<Value: Sendable>(of provider: Name, _ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as ParseError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            logger.error("auth provider failed", metadata: ["provider": "\(provider)", "error": "\(error)"])
            throw ParseError(ParseError.scriptFailed, "Auth failed. Unknown error.")
        }
    }

    /// Whether a user is linked to any of the claimed ids.
    func isKnown(_ claims: ProviderClaims, _ caller: Caller) async throws -> Bool {
        guard !claims.identities.isEmpty else { return false }
        return try await !owners(of: claims.identities, isForAll: caller.readsEverything).isEmpty
    }

    /// The error for a log-in or a new session in a transaction. The session would be created before the transaction
    /// begins, and remain if the transaction failed.
    static let noLogInOfTransaction = ParseError(
        ParseError.invalidJSON, "Log-ins and new sessions can't be part of a transaction.")

    /// Returns the users who are linked to any of the claimed ids, at most two per provider.
    ///
    /// - Parameter isForAll: Whether to include users with an empty ACL, whom clients can't log in.
    func owners(of claims: [ProviderClaims.Claim], isForAll: Bool) async throws -> [String] {
        var owners: Set<Name> = []
        for claim in claims {
            guard let id = claim.id else { continue }
            owners.formUnion(try await store.accounts.users(of: claim.name, id: id, isForAll: isForAll))
        }
        return owners.sorted().texts
    }
}
