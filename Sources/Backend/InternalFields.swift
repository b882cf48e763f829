import JSON
import OrderedCollections
import ParseModel
import ParseStorage

/// What no schema lists of users (the hash of the password, tokens, lockouts): the maintenance key reads and writes it.
extension Backend {
    /// The internal fields of the users that a find gave, as members to be added to each.
    ///
    /// - Returns: A list for each row, or nothing when the caller may not see them or did not ask for them.
    func internalMembers(_ className: String, _ found: ObjectStore.Found, _ options: FindOptions, _ caller: Caller)
        async throws -> [[[UInt8]]]
    {
        // Servers before 8 kept them back even from this key.
        guard className == "_User", caller.power == .maintenance, found.rowCount > 0, configuration.preset >= 8 else {
            return []
        }
        let wanted = SystemClass.internalUserFields.keys.filter { name in
            options.keys?.contains([name]) ?? true && !options.excluded.contains([name])
        }
        guard !wanted.isEmpty else { return [] }
        let ids = (0..<found.rowCount).map { found.objectId($0) ?? "" }
        let users = try await store.internalUserFields(of: ids)
        return ids.map { id in
            wanted.compactMap { name in
                users[id]?[name].map { JSONValue.string(name).serialized() + [UInt8(ascii: ":")] + $0.serialized() }
            }
        }
    }

    /// Takes the internal fields out of a user that the maintenance key writes.
    ///
    /// - Returns: Their values; null for one that is to be deleted.
    func takeInternalFields(_ body: inout JSONObject, _ caller: Caller) -> OrderedDictionary<String, JSONValue> {
        guard caller.power == .maintenance else { return [:] }
        var hidden: OrderedDictionary<String, JSONValue> = [:]
        for name in SystemClass.internalUserFields.keys {
            guard let value = body.removeValue(forKey: name) else { continue }
            hidden[name] = value["__op"]?.stringValue == "Delete" ? .null : value
        }
        return hidden
    }
}
