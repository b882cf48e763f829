import JSON
import ParseModel

/// Class-level permissions: what a caller may do with the objects of a class.
extension ClassSchema {
    /// Checks that an operation on a class is let through.
    ///
    /// - Returns: A condition on objects, when the caller is let through to some objects only.
    /// - Throws: 119, or 101 where Parse hides that the class exists.
    package func permit(_ operation: ClassOperation, to caller: Caller) throws(ParseError) -> Filter {
        if operation == .create || operation == .update || operation == .delete || operation == .addField
            ? caller.writesEverything : caller.readsEverything
        {
            return .everything
        }
        let permissions = effectivePermissions
        if permissions.admits(caller.principals, to: operation) { return .everything }
        let entry = permissions[operation]
        let fields = permissions.userFields(for: operation)
        if entry.requiresAuthentication {
            guard caller.userId != nil else {
                throw .denied(ParseError.objectNotFound, "Permission denied, user needs to be authenticated.")
            }
            if fields.isEmpty { return .everything }
        }
        guard operation != .create, !fields.isEmpty else {
            throw .denied(
                ParseError.operationForbidden,
                "Permission denied for action \(operation.rawValue) on class \(name).")
        }
        guard let userId = caller.userId else { return .any([]) }
        return Self.pointing(fields.texts, to: userId)
    }

    private static func pointing(_ fields: [String], to userId: String) -> Filter {
        let pointer = Pointer(className: "_User", objectId: userId).json
        return .any(fields.map { .field(FieldPath($0), .equal(pointer)) })
    }
}

/// What a caller may do with a class, whatever its permissions are.
extension Caller {
    /// Classes whose rows aren't objects and lack their columns.
    private static let ownRoutes: Set<Name> = ["_Hooks", "_GlobalConfig", "_GraphQLConfig"]

    /// Refuses clients what only the master key reaches.
    ///
    /// - Throws: 119.
    package func check(_ operation: String, of name: String) throws(ParseError) {
        let isWrite = operation != "get" && operation != "find"
        if power == .readOnlyMaster, isWrite {
            throw .denied(
                ParseError.operationForbidden,
                "read-only masterKey isn't allowed to perform the \(operation) operation.")
        }
        if isWrite, Self.ownRoutes.contains(name) {
            throw ParseError(
                ParseError.operationForbidden, "Objects of \(name) can't be written through /classes.")
        }
        guard power == .client else { return }
        if name == "_Installation", operation == "find" || operation == "delete" {
            throw .denied(
                ParseError.operationForbidden,
                "Clients aren't allowed to perform the \(operation) operation on the installation collection.")
        }
        guard SystemClass.masterOnlyNames.contains(name) || Name(name).hasPrefix("_Join:") else { return }
        throw .denied(
            ParseError.operationForbidden,
            "Clients aren't allowed to perform the \(operation) operation on the \(name) collection.")
    }
}
