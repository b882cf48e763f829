import Encoding
import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

extension Users {
    /// Whether a request checks or sets a password.
    ///
    /// - Parameters:
    ///   - path: The path below the mount, such as `["users", "abc"]`.
    ///   - isWrite: Whether the method writes.
    public static func computesHashes(_ path: [String], isWrite: Bool, _ body: JSONObject) -> Bool {
        switch path.first?.asciiLowercased {
        case "login", "verifypassword": path.count == 1
        case "challenge": path.count == 1 && body["password"] != nil
        default: isWrite && body["password"] != nil && isUser(path)
        }
    }

    private static func isUser(_ path: [String]) -> Bool {
        switch path.first?.asciiLowercased {
        case "users": true
        case "classes": path.dropFirst().first == "_User"
        default: false
        }
    }

    /// Returns the columns to store for a new user's password.
    ///
    /// - Throws: 142 if the password violates the policy or is too long, 107 if it contains NUL.
    func columns(ofNew password: String, _ body: JSONObject, _ context: RequestContext) async throws
        -> OrderedDictionary<Name, JSONValue>
    {
        try PasswordRules.check(
            password, username: body["username"]?.stringValue, configuration.passwordPolicy,
            refusesUncompared: configuration.preset >= 9)
        try await checkByFunction(password)
        var columns: OrderedDictionary<Name, JSONValue> = [
            "_hashed_password": .string(try await services.passwords.hash(password, from: context.address))
        ]
        if configuration.passwordPolicy?.maxPasswordAge != nil { columns["_password_changed_at"] = context.now.json }
        return columns
    }

    /// Returns the columns to store for a changed password, including the password history.
    ///
    /// - Throws: 142 if the password violates the policy or is too long, 107 if it contains NUL.
    func columns(ofChanged password: String, _ body: JSONObject, _ objectId: String, _ context: RequestContext)
        async throws -> OrderedDictionary<Name, JSONValue>
    {
        var columns = try await checkPasswordChange(password, body, objectId, context)
        columns["_hashed_password"] = .string(try await services.passwords.hash(password, from: context.address))
        return columns
    }

    /// Passes a password to the app's validator function, if there is one.
    ///
    /// - Throws: 142 if the password is too long or the function rejects it, and errors of the function.
    private func checkByFunction(_ password: String) async throws {
        guard let policy = configuration.passwordPolicy, let ask = try function(.validatorCallback) else { return }
        try PasswordRules.checkLength(password)
        guard try await ask(["password": .string(password)]) else { throw PasswordRules.refusal(policy) }
    }

    /// Checks a changed password against the policy and returns the columns to store in addition to the hash.
    private func checkPasswordChange(
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
