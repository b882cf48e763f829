import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Links and unlinks providers of users.
extension Providers {
    /// Returns the changes to a user's `authData` by an update, or nil if the value is null or empty. Providers with
    /// data are linked, and `null` unlinks a provider.
    ///
    /// - Parameters:
    ///   - value: The field `authData` of the update.
    ///   - body: All fields of the update.
    ///   - setsPassword: Whether the update sets a password.
    /// - Throws: 252 if the data is malformed or a provider is unknown, 208 if the id belongs to another user, 142 if
    ///   no log-in method would remain, and the errors of ``checkUpdate(_:of:with:stored:_:)``.
    func linking(
        _ value: JSONValue, to objectId: String, with body: JSONObject, setsPassword: Bool, _ context: RequestContext
    ) async throws -> LoginDataChange? {
        guard !value.isNull else { return nil }
        guard let given = value.objectValue else { throw Self.unsupported }
        if given.isEmpty { return nil }
        let stored = try await store.accounts.authData(of: objectId)
        // Unchanged data needs no check.
        let changed = await withoutEchoes(given, of: stored, objectId, context)
        try checkSupported(changed)
        let claims = try await claims(try named(.object(changed)))
        for owner in try await owners(of: claims.identities, isForAll: true) where !owner.hasSameBytes(as: objectId) {
            _ = try await check(
                claims.identities, stored: [:], for: AuthSubject(id: objectId, changes: body), context)
            throw Self.alreadyLinked
        }
        var change = try await checkUpdate(claims.claims, of: objectId, with: body, stored: stored, context)
        // As in log-ins, the data is stored even if a provider rejects the request afterward.
        if change.refusal != nil { try await apply(change, to: objectId) }
        change.removed = Set(given.filter { $0.value.isNull }.map(\.key))
        try await checkStillEnters(change, stored, objectId, setsPassword: setsPassword, context.caller)
        return change
    }

    /// Returns the changes to a user's `authData` after a trigger has replaced the client's data. As in parse-server,
    /// providers don't check data from triggers, but its ids must not belong to other users.
    ///
    /// - Parameters:
    ///   - value: The field `authData` after the trigger, or nil if the trigger has removed it.
    ///   - change: The changes that the client sent, which providers have checked.
    ///   - sent: The data that the client sent.
    /// - Throws: 252 if the data is malformed or a provider is unknown, 208 if an id belongs to another user.
    func linking(
        _ value: JSONValue?, ofTriggerFor objectId: String, after change: LoginDataChange?, _ sent: JSONObject
    ) async throws -> LoginDataChange? {
        guard let value, !value.isNull else { return nil }
        guard let given = value.objectValue else { throw Self.unsupported }
        var change = change ?? LoginDataChange()
        if change.base.isEmpty { change.base = try await store.accounts.authData(of: objectId) }
        for name in sent.keys where given[name] != sent[name] {
            change.added[name] = nil
            change.removed.remove(name)
        }
        let own = given.filter { $0.value != sent[$0.key] && $0.value != change.base[$0.key] }
        change.removed.formUnion(own.filter { $0.value.isNull }.map(\.key))
        for (name, data) in try named(.object(own)) {
            change.added[name] = data
            guard let id = data["id"]?.stringValue else { continue }
            let owners = try await store.accounts.users(of: name, id: id, isForAll: true)
            guard owners.allSatisfy({ $0.text.hasSameBytes(as: objectId) }) else { throw Self.alreadyLinked }
        }
        return change
    }

    /// Checks changes to a user's `authData`. Changing an additional factor needs one of its codes. Wrong codes count
    /// as in log-ins unless the caller has full rights, and correct codes don't reset the count.
    ///
    /// - Throws: 101 after too many wrong codes, and errors of providers.
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
        let change = try await check(claims, stored: stored, of: objectId, for: subject, context)
        if isCounted { await backend.lockout.releaseAttempt(of: objectId, isOfFactor: true) }
        return change
    }

    /// From preset 9 on, checks that unlinking leaves a log-in method, except for callers with full rights.
    ///
    /// - Throws: 142 if no log-in method would remain.
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
}
