import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Changes to a user's `authData` after the providers' checks.
struct LoginDataChange: Sendable {
    /// The stored data that the checks were based on.
    var base: JSONObject = [:]
    /// The data to store, by provider.
    var added: JSONObject = [:]
    var removed: Set<Name> = []
    /// Providers whose stored data must not have changed since the check, because proofs may be single-use.
    var spent: Set<Name> = []
    /// The members of `authDataResponse`, by provider.
    var responses: JSONObject = [:]
    /// An error to send after storing the data, or nil if the request continues.
    var refusal: ParseError?
    /// The email addresses that providers have verified.
    var vouchedAddresses: Set<Name> = []

    var isEmpty: Bool { added.isEmpty && removed.isEmpty }

    /// Returns the data after the change.
    ///
    /// - Parameter current: The stored data, read under a lock if the result is stored.
    /// - Throws: 141 if another request has used a single-use proof in the meantime.
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
    /// Checks claims with their providers in order, up to the first rejection.
    ///
    /// - Parameters:
    ///   - stored: The user's `authData`, or empty to check the claims as new data.
    ///   - userId: The user, or nil for a new user or one whose identity is still being checked.
    ///   - subject: The user for JavaScript adapters of the app, and whether the client logs in as the user.
    func check(
        _ claims: [ProviderClaims.Claim], stored: JSONObject, of userId: String? = nil, for subject: AuthSubject,
        _ context: RequestContext
    ) async throws -> LoginDataChange {
        var change = LoginDataChange(base: stored)
        let request = try await moduleRequest(for: claims, of: subject, context)
        for claim in claims {
            let known = stored[claim.name]?.objectValue
            var attempt = AuthAttempt(
                purpose: known == nil ? .setUp : subject.isLogin ? .logIn : .update, data: claim.data, stored: known,
                options: claim.options, isMaster: context.caller.writesEverything, now: context.now)
            if claim.provider.runsModule { attempt.request = request }
            attempt.userId = userId
            let outcome = try await hidingFailures(of: claim.name) { try await claim.provider.check(attempt) }
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

    /// Stores the change in a separate transaction, as log-ins do.
    ///
    /// - Throws: 141 if another request has used a single-use proof in the meantime, and the change's own rejection.
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

    /// Checks that a log-in of a user with additional factors includes one, or a log-in method that needs none.
    ///
    /// - Throws: -1 if the client sent neither, or an error of the provider.
    func checkAdditional(_ claims: ProviderClaims, stored: JSONObject, _ context: RequestContext) async throws {
        var missing: [Name] = []
        var request: ModuleRequest?
        for (name, data) in stored {
            // A factor whose provider is no longer configured is not required.
            guard let data = data.objectValue, let (provider, options) = try? provider(name) else { continue }
            var attempt = AuthAttempt(
                purpose: .logIn, data: [:], stored: data, options: options,
                isMaster: context.caller.writesEverything, now: context.now)
            if provider.runsModule {
                if request == nil { request = try await moduleRequest(of: AuthSubject(), context) }
                attempt.request = request
            }
            switch try await hidingFailures(of: name, { [attempt] in try await provider.loginPolicy(attempt) }) {
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

    /// Whether the user has set up an additional factor.
    func hasFactors(_ stored: JSONObject) -> Bool {
        stored.contains { name, data in
            guard let data = data.objectValue, let (provider, _) = try? provider(name) else { return false }
            return provider.policy(data) == .additional
        }
    }

    /// Returns a function that reduces stored `authData` to what users may see, or nil if only anonymous log-in is
    /// available.
    static func loginDataView(_ providers: [Name: any AuthProvider], _ options: JSONObject)
        -> (@Sendable (JSONObject) -> JSONObject)?
    {
        guard providers.keys.contains(where: { $0 != "anonymous" }) else { return nil }
        return { stored in
            var visible = stored
            for (name, data) in stored {
                guard let provider = providers[name], let fields = data.objectValue else { continue }
                visible[name] = .object(provider.visibleData(fields, options[name]?.objectValue ?? [:]))
            }
            return visible
        }
    }
}
