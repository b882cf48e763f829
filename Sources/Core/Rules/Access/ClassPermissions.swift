import JSON
import ParseModel

/// Class-level permissions.
extension ClassSchema {
    /// Checks whether a caller may perform an operation on a class.
    ///
    /// - Returns: A filter for the objects that the caller may access, or `.everything`.
    /// - Throws: 101 if the operation requires a login that is missing, or 119 if it is denied for another reason.
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

/// Rules for system classes that apply regardless of class-level permissions.
extension Caller {
    /// Classes whose rows aren't Parse objects. They have separate routes.
    private static let ownRoutes: Set<Name> = ["_Hooks", "_GlobalConfig", "_GraphQLConfig"]

    /// Rejects operations that a system class doesn't allow the caller, and writes with the read-only master key.
    ///
    /// - Throws: 119 if the operation is rejected.
    package func check(_ operation: String, of name: String) throws(ParseError) {
        let isWrite = operation != "get" && operation != "find"
        if power == .readOnlyMaster, isWrite { throw .readOnly("perform the \(operation) operation") }
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
