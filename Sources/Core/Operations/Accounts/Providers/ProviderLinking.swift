import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Linking providers to users, and unlinking them.
extension Providers {
    /// What becomes of a user's login data by an update: providers with data are linked, `null` unlinks. Nil when
    /// nothing changes.
    ///
    /// - Parameters:
    ///   - value: The field `authData` of the update.
    ///   - body: The other fields of the update.
    ///   - setsPassword: Whether the update gives the user a password.
    /// - Throws: 252 for data of no form and unknown providers, 208 for what belongs to another user, what providers
    ///   throw, 142 for unlinking the last way to log in.
    func linking(
        _ value: JSONValue, to objectId: String, with body: JSONObject, setsPassword: Bool, _ context: RequestContext
    ) async throws -> LoginDataChange? {
        guard !value.isNull else { return nil }
        guard let given = value.objectValue else { throw Self.unsupported }
        if given.isEmpty { return nil }
        let stored = try await store.accounts.authData(of: objectId)
        // What is sent back unchanged needs no check: iOS sends the whole map with every save.
        let changed = given.filter { !$0.value.isNull && !isEcho($0.value, of: stored[$0.key], $0.key) }
        try checkSupported(changed)
        let claims = try await claims(try named(.object(changed)))
        for owner in try await owners(of: claims.identities, isForAll: true) where !owner.hasSameBytes(as: objectId) {
            _ = try await check(
                claims.identities, stored: [:], isLogin: false, for: AuthSubject(id: objectId, changes: body), context)
            throw Self.alreadyLinked
        }
        var change = try await checkUpdate(claims.claims, of: objectId, with: body, stored: stored, context)
        // What a provider refuses after it has done something is stored, as at a log-in.
        if change.refusal != nil { try await apply(change, to: objectId) }
        change.removed = Set(given.filter { $0.value.isNull }.map(\.key))
        try await checkStillEnters(change, stored, objectId, setsPassword: setsPassword, context.caller)
        return change
    }

    /// Checks what a user changes of the own login data. A second factor that is there already is changed by a code of
    /// it: wrong ones are counted as at a log-in, and right ones clear none of them.
    ///
    /// - Throws: 101 when too many were wrong; what providers throw.
    func checkUpdate(
        _ claims: [ProviderClaims.Claim], of objectId: String, with body: JSONObject, stored: JSONObject,
        _ context: RequestContext
    ) async throws -> LoginDataChange {
        let isCounted =
            !context.caller.writesEverything
            && claims.contains {
                $0.id == nil && stored[$0.name]?.objectValue != nil && $0.provider.bringsProof($0.data)
            }
        if isCounted { try await backend.lockout.reserveAttempt(of: objectId, isOfFactor: true, context) }
        let subject = AuthSubject(id: objectId, changes: body)
        let change = try await check(claims, stored: stored, isLogin: false, of: objectId, for: subject, context)
        if isCounted { await backend.lockout.releaseAttempt(of: objectId, isOfFactor: true) }
        return change
    }

    /// No user is locked out of an account by unlinking the last way to log in; throws 142.
    func checkStillEnters(
        _ change: LoginDataChange, _ stored: JSONObject, _ objectId: String, setsPassword: Bool, _ caller: Caller
    ) async throws {
        guard !change.removed.isEmpty, !setsPassword, !caller.writesEverything, configuration.preset >= 9 else {
            return
        }
        let left = try change.applied(to: stored)
        let isWayIn = left.contains { name, data in
            guard let (provider, _) = try? provider(name) else { return false }
            return provider.policy(data.objectValue ?? [:]) != .additional
        }
        let hadWayIn = stored.contains { change.removed.contains($0.key) && !$0.value.isNull }
        guard hadWayIn, !isWayIn, try await store.accounts.passwordRecord(of: objectId)?.hash == nil else { return }
        throw ParseError(
            ParseError.validationError, "The last login method can't be removed. Set a password first.")
    }

    /// Whether data say no more than what is stored, or than what reading shows of it.
    func isEcho(_ sent: JSONValue, of stored: JSONValue?, _ name: Name) -> Bool {
        guard let sent = sent.objectValue, let stored = stored?.objectValue, !sent.isEmpty else { return false }
        if sent.allSatisfy({ stored[$0.key] == $0.value }) { return true }
        guard let (provider, options) = try? provider(name) else { return false }
        return sent == provider.shown(stored, options)
    }
}
