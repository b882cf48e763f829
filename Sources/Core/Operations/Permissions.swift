import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Class-level permissions, where they need to know more than the class.
public struct Permissions: Sendable, BackendPart {
    let backend: Backend

    /// Whether a count is answered as an empty list: up to line 7 to a caller without a user, in a class that lets
    /// through to some objects only.
    func countsNothing(_ className: String, _ caller: Caller) -> Bool {
        guard configuration.preset < 8, caller.userId == nil, let schema = catalog.schema(className),
            let filter = try? schema.permit(.count, to: caller)
        else { return false }
        return filter == .any([])
    }

    /// Refuses clients a class that does not exist, where they may not make classes; throws 119.
    func checkClassCreation(_ name: String, _ caller: Caller) throws(ParseError) {
        guard !configuration.allowClientClassCreation, !caller.readsEverything, !SystemClass.names.contains(name),
            catalog.schema(name) == nil
        else { return }
        throw .denied(
            ParseError.operationForbidden, "This user is not allowed to access non-existent class: \(name)")
    }

    /// The internal fields of the users that a find gave, as members to be added to each: what no schema lists of users
    /// (the hash of the password, tokens, lockouts), which the maintenance key reads and writes.
    ///
    /// - Returns: A list for each row, or nothing when the caller may not see them or did not ask for them.
    func internalMembers(_ found: ObjectStore.Found, _ options: FindOptions, _ caller: Caller) async throws
        -> [[[UInt8]]]
    {
        guard caller.power == .maintenance, found.rowCount > 0 else { return [] }
        let wanted = SystemClass.internalUserFields.keys.filter { name in
            // Servers before 8 kept the hash back even from this key.
            (configuration.preset >= 8 || name != "_hashed_password")
                && options.keys?.contains([name]) ?? true && !options.excluded.contains([name])
        }
        guard !wanted.isEmpty else { return [] }
        let ids = (0..<found.rowCount).map { found.objectId($0) ?? "" }
        let users = try await store.imports.internalUserFields(of: ids)
        return ids.map { id in
            wanted.compactMap { name in users[id]?[name].map { JSONValue.member(name, $0) } }
        }
    }

    /// Takes the internal fields out of a user that the maintenance key writes.
    ///
    /// - Returns: Their values; null for one that is to be deleted.
    /// - Throws: 142 for a hash of a password that is none.
    func takeInternalFields(_ body: inout JSONObject, _ caller: Caller) throws(ParseError)
        -> OrderedDictionary<Name, JSONValue>
    {
        guard caller.power == .maintenance else { return [:] }
        var hidden: OrderedDictionary<Name, JSONValue> = [:]
        for name in SystemClass.internalUserFields.keys {
            guard let value = body.removeValue(forKey: name) else { continue }
            hidden[name] = value["__op"]?.stringValue == "Delete" ? .null : value
        }
        try Self.checkHash(hidden)
        return hidden
    }

    /// Refuses what is no hash where the hash of a password belongs: its user could never log in.
    ///
    /// - Throws: 201 or 142; values that are no texts are refused by their type.
    static func checkHash(_ hidden: OrderedDictionary<Name, JSONValue>) throws(ParseError) {
        guard let text = hidden["_hashed_password"]?.stringValue, BcryptHash(text) == nil else { return }
        guard !text.isEmpty else { throw ParseError(ParseError.passwordMissing, "password is required") }
        throw ParseError(ParseError.validationError, "_hashed_password must be a bcrypt hash.")
    }
}
