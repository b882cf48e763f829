import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// What becomes of a user's login data when providers have checked what was sent.
struct LoginDataChange: Sendable {
    /// The data that were checked against.
    var base: JSONObject = [:]
    /// What is stored from now on, by provider.
    var added: JSONObject = [:]
    var removed: Set<Name> = []
    /// The providers whose data must be as they were checked: what they prove may be spent once.
    var spent: Set<Name> = []
    /// What the client gets, by provider.
    var responses: JSONObject = [:]
    /// What the request ends with although data are stored.
    var refusal: ParseError?
    /// The mail addresses that providers say are the user's.
    var vouchedAddresses: Set<Name> = []

    /// Whether anything is to be stored.
    var isEmpty: Bool { added.isEmpty && removed.isEmpty }

    /// The data after the change.
    ///
    /// - Parameter current: The data as they are, while no other request can change them.
    /// - Throws: 141 when another request was quicker to spend what may be spent once.
    func applied(to current: JSONObject) throws(ParseError) -> JSONObject {
        for name in spent where current[name] ?? .null != base[name] ?? .null {
            throw ParseError(ParseError.scriptFailed, "Invalid auth data")
        }
        var data = current.filter { !$0.value.isNull && !removed.contains($0.key) }
        for (name, value) in added { data[name] = value }
        return data
    }
}

extension Providers {
    /// Has providers check claims, one after the other, up to the first that refuses.
    ///
    /// - Parameters:
    ///   - stored: The login data of the user; empty for a new one.
    ///   - isLogin: Whether the client logs in as the user.
    ///   - userId: The user; nil for a new one, and for one whom the claims still have to prove.
    ///   - subject: The user for adapters of the app's own.
    func check(
        _ claims: [ProviderClaims.Claim], stored: JSONObject, isLogin: Bool, of userId: String? = nil,
        for subject: AuthSubject = AuthSubject(), _ context: RequestContext
    ) async throws -> LoginDataChange {
        var change = LoginDataChange(base: stored)
        let request = try await moduleRequest(for: claims, of: subject, context)
        for claim in claims {
            let known = stored[claim.name]?.objectValue
            var attempt = AuthAttempt(
                known == nil ? .setUp : isLogin ? .logIn : .update, claim.data, stored: known, options: claim.options,
                isMaster: context.caller.writesEverything, now: context.now)
            if claim.provider.runsModule { attempt.request = request }
            attempt.userId = userId
            let outcome = try await hidingFailures { try await claim.provider.check(attempt) }
            if claim.provider.policy(known ?? claim.data) != .standard { change.spent.insert(claim.name) }
            if let data = outcome.stored, known != data { change.added[claim.name] = .object(data) }
            if let response = outcome.response { change.responses[claim.name] = .object(response) }
            if let address = outcome.vouchedAddress { change.vouchedAddresses.insert(Name(address)) }
            if let refusal = outcome.refusal {
                change.refusal = refusal
                break
            }
        }
        return change
    }

    /// Stores a change of a user's login data by itself, as a log-in does.
    ///
    /// - Throws: 141 when another request was quicker; the refusal that the change ends with.
    func apply(_ change: LoginDataChange, to userId: String) async throws {
        if !change.isEmpty {
            try await backend.transaction(conflictKey: userId) { backend in
                let current = try await backend.store.accounts.authData(of: userId, locks: true)
                try await backend.store.accounts.setAuthData(of: userId, to: try change.applied(to: current))
            }
            await backend.caches.invalidate(user: userId)
        }
        if let refusal = change.refusal { throw refusal }
    }

    /// What a log-in brings besides the password or the provider that names the user.
    ///
    /// - Throws: -1 when the user has set up what is to be proved besides, and nothing of it was sent.
    func checkAdditional(_ claims: ProviderClaims, stored: JSONObject) throws(ParseError) {
        var missing: [Name] = []
        for (name, data) in stored {
            // Who set up something that the deployment has no more is not kept out by it.
            guard let data = data.objectValue, let (provider, _) = try? provider(name) else { continue }
            switch provider.policy(data) {
            case .standard: break
            case .solo: if claims.has(name) { return }
            case .additional:
                if claims.has(name) { return }
                missing.append(name)
            }
        }
        guard missing.isEmpty else {
            throw ParseError(-1, "Missing additional authData \(missing.sorted().texts.joined(separator: ","))")
        }
    }

    /// Whether a user has set up something that is to be proved besides.
    func hasFactors(_ stored: JSONObject) -> Bool {
        stored.contains { name, data in
            guard let data = data.objectValue, let (provider, _) = try? provider(name) else { return false }
            return provider.policy(data) == .additional
        }
    }

    /// How users see what providers know of them; nil for as it is stored.
    static func loginDataView(_ providers: [Name: any AuthProvider], _ options: JSONObject)
        -> (@Sendable (JSONObject) -> JSONObject)?
    {
        guard providers.keys.contains(where: { $0 != "anonymous" }) else { return nil }
        return { stored in
            var shown = stored
            for (name, data) in stored {
                guard let provider = providers[name], let fields = data.objectValue else { continue }
                shown[name] = .object(provider.shown(fields, options[name]?.objectValue ?? [:]))
            }
            return shown
        }
    }
}
