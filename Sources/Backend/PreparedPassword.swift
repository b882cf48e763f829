import JSON
import OrderedCollections
import ParseModel
import ParseStorage

/// A password that was checked and hashed before the call that sets it is carried out: hashing takes long, and a
/// transaction would keep its rows locked meanwhile.
public struct PreparedPassword: Sendable {
    /// The password in clear, by its bytes.
    let password: [UInt8]
    /// The columns that it sets.
    let columns: OrderedDictionary<Name, JSONValue>

    /// The columns, if they are those of a password.
    func columns(of password: String) -> OrderedDictionary<Name, JSONValue>? {
        self.password.elementsEqual(password.utf8) ? columns : nil
    }
}

extension Backend {
    /// Whether a call checks or sets a password.
    ///
    /// - Parameters:
    ///   - path: The path below the mount, such as `["users", "abc"]`.
    ///   - isWrite: Whether the method writes.
    public static func computesHashes(_ path: [String], isWrite: Bool, _ body: JSONObject) -> Bool {
        switch path.first?.lowercased() {
        case "login", "verifypassword": path.count == 1
        default: isWrite && body["password"] != nil && userPlace(path) != nil
        }
    }

    /// Checks and hashes the password that a call sets, before a transaction that the call is part of.
    ///
    /// - Parameters:
    ///   - path: The path below the mount, such as `["users", "abc"]`.
    ///   - isUpdate: Whether the call changes a user.
    ///   - isWrite: Whether the method writes.
    /// - Returns: For ``RequestContext/preparedPassword``; nil when the call sets none.
    /// - Throws: What the call itself would throw: 142 for a password that breaks a rule, 206 for somebody else's.
    public func preparePassword(
        _ path: [String], isUpdate: Bool, isWrite: Bool, _ body: JSONObject, _ context: RequestContext
    ) async throws -> PreparedPassword? {
        guard isWrite, let place = Self.userPlace(path), let password = body["password"]?.stringValue,
            !password.isEmpty, context.caller.power != .readOnlyMaster
        else { return nil }
        let columns: OrderedDictionary<Name, JSONValue>
        if isUpdate, let objectId = place.objectId {
            try await authorizeUserUpdate(objectId, context.caller)
            columns = try await self.columns(ofChanged: password, body, objectId, context)
        } else {
            columns = try await self.columns(ofNew: password, body, context)
        }
        return PreparedPassword(password: Array(password.utf8), columns: columns)
    }

    /// What a path to users names: all of them, or one.
    private struct UserPlace {
        var objectId: String?
    }

    /// Whether a path leads to users, and to which.
    private static func userPlace(_ path: [String]) -> UserPlace? {
        switch path.first?.lowercased() {
        case "users": UserPlace(objectId: path.dropFirst().first)
        case "classes" where path.dropFirst().first == "_User": UserPlace(objectId: path.dropFirst(2).first)
        default: nil
        }
    }

    /// The columns that the password of a new user sets.
    ///
    /// - Throws: 142 for a password that breaks a rule.
    func columns(ofNew password: String, _ body: JSONObject, _ context: RequestContext) async throws
        -> OrderedDictionary<Name, JSONValue>
    {
        if let columns = context.preparedPassword?.columns(of: password) { return columns }
        try checkPolicy(password, username: body["username"]?.stringValue)
        var columns: OrderedDictionary<Name, JSONValue> = [
            "_hashed_password": .string(try await passwords.hash(password, from: context.address))
        ]
        if configuration.passwordPolicy?.maxPasswordAge != nil { columns["_password_changed_at"] = context.now.json }
        return columns
    }

    /// The columns that the new password of a user sets, the history included.
    ///
    /// - Throws: 142 for a password that breaks a rule.
    func columns(ofChanged password: String, _ body: JSONObject, _ objectId: String, _ context: RequestContext)
        async throws -> OrderedDictionary<Name, JSONValue>
    {
        if let columns = context.preparedPassword?.columns(of: password) { return columns }
        var columns = try await checkPasswordChange(password, body, objectId, context)
        columns["_hashed_password"] = .string(try await passwords.hash(password, from: context.address))
        return columns
    }
}
