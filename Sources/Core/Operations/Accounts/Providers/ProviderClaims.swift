import JSON
import OrderedCollections
import ParseModel
import Rules

/// What a request says of its user by providers, in the order of their names.
struct ProviderClaims: Sendable {
    struct Claim: Sendable {
        let name: Name
        let provider: any AuthProvider
        let options: JSONObject
        /// What was sent, with the id and the token in place of a code.
        let data: JSONObject

        /// The id that the provider knows the user by; nil for what is no way to log in.
        var id: String? { data["id"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
    }

    var claims: [Claim] = []

    var isEmpty: Bool { claims.isEmpty }
    /// Those that name a user.
    var identities: [Claim] { claims.filter { $0.id != nil } }
    /// The names, as sessions record what opened them.
    var names: String { claims.map(\.name).texts.joined(separator: ",") }

    func has(_ name: Name) -> Bool { claims.contains { $0.name == name } }
}

extension Providers {
    static let unsupported = ParseError(
        ParseError.unsupportedService, "This authentication method is unsupported.")
    static let alreadyLinked = ParseError(ParseError.accountAlreadyLinked, "this auth is already used")

    /// The enabled provider of this name. Throws 252 if there is none.
    func provider(_ name: Name) throws(ParseError) -> (any AuthProvider, JSONObject) {
        let options = configuration.auth[name]?.objectValue ?? [:]
        let isEnabled = options["enabled"] != false && (name != "anonymous" || configuration.enableAnonymousUsers)
        guard isEnabled, let provider = services.authProviders[name] else { throw Self.unsupported }
        return (provider, options)
    }

    /// Refuses providers that the deployment does not have; throws 252.
    func checkSupported(_ providers: JSONObject) throws(ParseError) {
        for name in providers.keys { _ = try provider(name) }
    }

    /// The providers that bring data, by name. Empty data count as none.
    ///
    /// - Throws: 252 for data of no form and for providers that the deployment does not have, 162 for an id that is not
    ///   a text. Servers before 9 take a number, too, which counts as its digits.
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
                // A provider may find out the id by itself; one that is not there finds nothing.
                guard !fields.isEmpty, (try? provider(name)) != nil else { continue }
            }
            providers[name] = .object(fields)
        }
        return providers
    }

    /// Has providers turn what was sent into what users are known by, in the order of their names, up to the first
    /// that refuses. What names no user and proves nothing is left out.
    func claims(_ providers: JSONObject) async throws -> ProviderClaims {
        var claims = ProviderClaims()
        for (name, data) in providers.sorted(by: { $0.key < $1.key }) {
            let (provider, options) = try provider(name)
            let known = try await hidingFailures { try await provider.exchange(data.objectValue ?? [:], options) }
            let claim = ProviderClaims.Claim(name: name, provider: provider, options: options, data: known)
            if claim.id != nil || provider.policy(known) != .standard { claims.claims.append(claim) }
        }
        return claims
    }

    /// Runs a provider: what it throws is Parse's error, or becomes one that reveals nothing.
    func hidingFailures<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as ParseError {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            logger.error("auth provider failed", metadata: ["error": "\(error)"])
            throw ParseError(ParseError.scriptFailed, "Auth failed. Unknown error.")
        }
    }

    /// Whether a user is known by any of the providers' ids.
    func isKnown(_ claims: ProviderClaims, _ caller: Caller) async throws -> Bool {
        guard !claims.identities.isEmpty else { return false }
        return try await !owners(of: claims.identities, isForAll: caller.readsEverything).isEmpty
    }

    /// What opens sessions is no part of a transaction: it is done before, and would stay when the transaction fails.
    static let noLogInOfTransaction = ParseError(
        ParseError.invalidJSON, "Log-ins and sign-ups can't be part of a transaction.")

    /// The ids of users who have any of the providers' ids.
    ///
    /// - Parameter isForAll: Whether users whose ACL admits no caller count: only the master key logs them in.
    func owners(of claims: [ProviderClaims.Claim], isForAll: Bool) async throws -> [String] {
        var owners: Set<Name> = []
        for claim in claims {
            guard let id = claim.id else { continue }
            owners.formUnion(try await store.accounts.users(of: claim.name, id: id, isForAll: isForAll))
        }
        return owners.sorted().texts
    }
}
