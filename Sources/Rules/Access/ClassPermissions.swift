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

    /// Objects of which one of the fields points to a user.
    private static func pointing(_ fields: [String], to userId: String) -> Filter {
        let pointer = Pointer(className: "_User", objectId: userId).json
        return .any(fields.map { .field(FieldPath($0), .equal(pointer)) })
    }
}
