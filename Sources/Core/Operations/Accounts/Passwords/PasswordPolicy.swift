import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Applies the option `passwordPolicy`.
extension Users {
    /// Passes a password that satisfies the other rules to the app's validator function.
    ///
    /// - Throws: 142 if the function rejects it, and errors of the function.
    func checkByFunction(_ password: String) async throws {
        guard let policy = configuration.passwordPolicy, let ask = try function(.validatorCallback) else { return }
        try PasswordRules.checkLength(password)
        guard try await ask(["password": .string(password)]) else { throw PasswordRules.refusal(policy) }
    }

    /// Checks a changed password against the policy.
    ///
    /// - Returns: The columns to store in addition to the hash.
    /// - Throws: 142 if the password violates the policy or is too long, 107 if it contains NUL.
    func checkPasswordChange(
        _ password: String, _ body: JSONObject, _ objectId: String, _ context: RequestContext
    ) async throws -> OrderedDictionary<Name, JSONValue> {
        var columns: OrderedDictionary<Name, JSONValue> = [:]
        guard let policy = configuration.passwordPolicy else {
            try PasswordRules.check(password, username: nil, nil, refusesUncompared: configuration.preset >= 9)
            return columns
        }
        guard let record = try await store.accounts.passwordRecord(of: objectId) else { return columns }
        try PasswordRules.check(
            password, username: body["username"]?.stringValue ?? record.username, policy,
            refusesUncompared: configuration.preset >= 9)
        try await checkByFunction(password)
        if policy.maxPasswordAge != nil { columns["_password_changed_at"] = context.now.json }
        guard policy.maxPasswordHistory > 0 else { return columns }
        // Oldest first. The current password comes last.
        let history = record.history + (record.hash.map { [$0] } ?? [])
        for text in history.suffix(policy.maxPasswordHistory) {
            guard let hash = BcryptHash(text), hash.isAffordable else { continue }
            if try await services.passwords.verify(password, hash: hash, from: context.address) {
                throw ParseError(
                    ParseError.validationError,
                    "New password should not be the same as last \(policy.maxPasswordHistory) passwords.")
            }
        }
        columns["_password_history"] = .array(
            history.suffix(max(1, policy.maxPasswordHistory - 1)).map { .string($0) })
        return columns
    }
}
