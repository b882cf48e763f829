import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Permission checks that need more than the class schema.
public struct Permissions: Sendable, BackendPart {
    let backend: Backend

    /// Whether a count responds with an empty list. Up to preset 7 this happens for callers who aren't logged in if the
    /// class can be counted only through pointer permissions.
    func countsNothing(_ className: String, _ caller: Caller) -> Bool {
        guard configuration.preset < 8, caller.userId == nil, let schema = catalog.schema(className),
            let filter = try? schema.permit(.count, to: caller)
        else { return false }
        return filter == .any([])
    }

    /// Checks that a client doesn't use a missing class if clients can't create classes.
    ///
    /// - Throws: 119 if it does.
    func checkClassCreation(_ name: String, _ caller: Caller) throws(ParseError) {
        guard !configuration.allowClientClassCreation, !caller.readsEverything, !SystemClass.names.contains(name),
            catalog.schema(name) == nil
        else { return }
        throw .denied(
            ParseError.operationForbidden, "This user is not allowed to access non-existent class: \(name)")
    }

    /// Fetches the internal fields of found users for the maintenance key, such as password hashes and tokens.
    ///
    /// - Returns: A list of encoded members for each row, or an empty list for other classes and callers, and if the
    ///   find selects no internal field or found no user.
    func internalMembers(_ found: ObjectStore.Found, _ find: Find) async throws -> [[[UInt8]]] {
        guard find.caller.power == .maintenance, find.target == "_User", found.rowCount > 0 else { return [] }
        let options = find.options
        let wanted = SystemClass.internalUserFields.keys.filter { name in
            // parse-server before 8 hides the hash even from this key.
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

    /// Removes and returns the internal fields from a user body written with the maintenance key.
    ///
    /// - Returns: The field values, with null for deleted fields, or an empty dictionary for other callers.
    /// - Throws: 201 or 142 for an invalid password hash.
    func extractInternalFields(_ body: inout JSONObject, _ caller: Caller) throws(ParseError)
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

    /// Rejects an invalid password hash, since its user could never log in.
    ///
    /// - Throws: 201 if the hash is empty, 142 if it isn't a bcrypt hash. Non-strings are rejected later by the type
    ///   check.
    static func checkHash(_ hidden: OrderedDictionary<Name, JSONValue>) throws(ParseError) {
        guard let text = hidden["_hashed_password"]?.stringValue, BcryptHash(text) == nil else { return }
        guard !text.isEmpty else { throw ParseError(ParseError.passwordMissing, "password is required") }
        throw ParseError(ParseError.validationError, "_hashed_password must be a bcrypt hash.")
    }
}
