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
}
