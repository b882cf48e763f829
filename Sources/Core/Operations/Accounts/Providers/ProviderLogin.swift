import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Logs users in with auth providers (`authData`).
public struct Providers: Sendable, BackendPart {
    let backend: Backend

    /// Whether a sign-up with this `authData` needs no user name and password even if it identifies no user. Presets
    /// below 9 allow that, for example if the data only unlinks providers.
    ///
    /// - Throws: 252 if a provider is unknown or disabled, or if a client that isn't logged in sends only data without
    ///   ids, and no user name and password.
    func needsNoPassword(_ authData: JSONValue?, _ body: JSONObject, _ caller: Caller) throws(ParseError) -> Bool {
        guard configuration.preset < 9, let given = authData?.objectValue else { return false }
        let isUsable = given.isEmpty || given.values.contains { $0.isNull || $0["id"]?.isTruthy == true }
        let hasPassword = body["username"]?.stringValue != nil && body["password"]?.stringValue != nil
        guard isUsable || hasPassword || caller.writesEverything || caller.userId != nil else {
            throw Self.unsupported
        }
        try checkSupported(given.filter { !$0.value.isNull })
        return true
    }

    /// Logs in the user that the providers identify, or returns nil if the user is unknown and must be created.
    ///
    /// The client learns whether an id is known only after proving that the id is its own.
    ///
    /// - Throws: 208 if the data belongs to several users or not to the logged-in caller, and the errors of a log-in.
    func logIn(with claims: ProviderClaims, _ context: RequestContext) async throws -> WriteResult? {
        let owners = try await owners(of: claims.identities, isForAll: context.caller.readsEverything)
        guard let id = owners.first else { return nil }
        guard owners.count == 1, context.caller.user == nil || context.caller.isUser(id) else {
            _ = try await check(claims.identities, stored: [:], for: AuthSubject(), context)
            throw Self.alreadyLinked
        }
        let stored = try await store.accounts.authData(of: id)
        if let user = context.caller.user {
            // The caller is already logged in, so no session is created.
            let sent = JSONObject(uniqueKeysWithValues: claims.claims.map { ($0.name, .object($0.data)) })
            let unknown = await withoutEchoes(sent, of: stored, id, context)
            let changed = claims.claims.filter { unknown[$0.name] != nil }
            let change = try await checkUpdate(changed, of: id, with: [:], stored: stored, context)
            try await apply(change, to: id)
            let record = try await backend.ownRecords.record(id, user, context)
            return answer(record, id, changed.isEmpty ? nil : change, context)
        }
        let method = claims.identities.first?.name.text ?? ""
        let (change, session) = try await backend.countingLogIn(by: method) {
            let change = try await checkLogin(claims, of: id, stored: stored, countsFactors: true, context)
            let user = ProvedUser(id: id, way: claims.names, change: change)
            return (change, try await LogInPipeline(backend: backend).run(user, context))
        }
        var user = try await backend.ownRecords.record(id, session.user, context)
        user["sessionToken"] = .string(session.token)
        if await backend.saveTriggers.notifyOfProviderLogin(id, user, context) { user["authData"] = nil }
        return answer(user, id, change, context)
    }

    private func checkLogin(
        _ claims: ProviderClaims, of id: String, stored: JSONObject, countsFactors: Bool, _ context: RequestContext
    ) async throws -> LoginDataChange {
        let subject = AuthSubject(id: id, isLogin: true)
        var change = try await check(claims.identities, stored: stored, for: subject, context)
        try await checkAdditional(claims, stored: stored, context)
        let factors = try await checkFactors(claims, of: id, stored: stored, counts: countsFactors, context)
        change.added.merge(factors.added) { $1 }
        change.responses.merge(factors.responses) { $1 }
        change.spent.formUnion(factors.spent)
        change.refusal = factors.refusal
        return change
    }

    /// Wrong codes of additional factors count like wrong passwords, since codes are short. Throws 101 after too many.
    private func checkFactors(
        _ claims: ProviderClaims, of id: String, stored: JSONObject, counts: Bool, _ context: RequestContext
    ) async throws -> LoginDataChange {
        let factors = claims.claims.filter { $0.id == nil }
        guard !factors.isEmpty else { return LoginDataChange() }
        if counts { try await backend.lockout.reserveAttempt(of: id, isOfFactor: true, context) }
        let subject = AuthSubject(id: id, isLogin: true)
        let change = try await check(factors, stored: stored, of: id, for: subject, context)
        // Requesting a code doesn't count as an attempt.
        if counts, change.refusal != nil { await backend.lockout.releaseAttempt(of: id, isOfFactor: true) }
        if counts, change.refusal == nil { try await backend.lockout.resetAttempts(of: id, isOfFactor: true) }
        return change
    }

    /// Checks the `authData` of a password log-in.
    ///
    /// - Parameter stored: The stored `authData` of the user with that password.
    /// - Throws: 208 if the data identifies another user, -1 if a required factor is missing, and errors of providers.
    func checkLogin(
        _ authData: JSONValue?, of id: String, stored: JSONObject, _ context: RequestContext
    ) async throws -> LoginDataChange {
        let given = try named(authData)
        guard !given.isEmpty || !stored.isEmpty else { return LoginDataChange() }
        let claims = try await claims(given)
        // With `accountLockout`, the password check has already counted this attempt.
        let change = try await checkLogin(
            claims, of: id, stored: stored, countsFactors: configuration.accountLockout == nil, context)
        for owner in try await owners(of: claims.identities, isForAll: true) where !owner.hasSameBytes(as: id) {
            throw Self.alreadyLinked
        }
        return change
    }

    private func answer(_ user: JSONObject, _ id: String, _ change: LoginDataChange?, _ context: RequestContext)
        -> WriteResult
    {
        var body = user
        if let change { addResponses(of: change, to: &body) }
        return WriteResult(status: 200, location: backend.saving.location("_User", id, context), body: body)
    }

    /// Adds `authDataResponse` to a response. Presets below 8 include it even if it is empty.
    func addResponses(of change: LoginDataChange, to body: inout JSONObject) {
        if !change.responses.isEmpty || configuration.preset < 8 {
            body["authDataResponse"] = .object(change.responses)
        }
    }
}
