import JSON
import ParseModel
import Rules

/// Rules for reading users and sessions in finds, gets, subqueries, includes and live queries.
package enum ReadRules {
    /// Checks whether a caller may read the class at all. Runs before the class-level permissions.
    ///
    /// - Throws: 209 for sessions if nobody is logged in.
    package static func authorize(_ caller: Caller, toRead className: String) throws(ParseError) {
        guard className == "_Session", !caller.readsEverything, caller.userId == nil else { return }
        throw ParseError(ParseError.invalidSessionToken, "Invalid session token", publicMessage: "Permission denied")
    }

    static func sessions(of userId: String) -> Filter {
        .field(FieldPath("user"), .equal(Pointer(className: "_User", objectId: userId).json))
    }

    /// Returns additional members for the response to a get. Triggers don't see them.
    ///
    /// Users who get themselves receive their session token, because SDKs store it with the user.
    static func answered(_ find: Find) -> JSONObject {
        guard find.target == "_User", let user = find.caller.user, user.id.hasSameBytes(as: find.objectId),
            !user.token.isEmpty
        else {
            // Another object, or the user as viewed by an operator, who has no session.
            return [:]
        }
        return ["sessionToken": .string(user.token)]
    }
}

extension Permissions {
    /// Returns the rows and fields of a class that the caller may read.
    ///
    /// - Throws: 119 or 101 if the class-level permissions deny the operation.
    package func readAccess(
        _ schema: ClassSchema, _ operation: ClassOperation, _ caller: Caller, isOwnUser: Bool = false
    ) throws(ParseError) -> ReadAccess {
        var access = try services.protectedFields.readAccess(schema, operation, caller, isOwnUser: isOwnUser)
        switch schema.name {
        case "_Session" where !caller.readsEverything:
            access.filter = access.filter.and(caller.userId.map(ReadRules.sessions) ?? .any([]))
        case "_User" where caller.power != .maintenance:
            access.hide(SystemClass.secretUserFields.filter { schema.fields[$0] != nil })
        default: break
        }
        return access
    }

    /// Hides the fields that the caller may not see from an object passed to triggers.
    func protect(_ schema: ClassSchema, _ objectId: String, _ caller: Caller, _ access: inout ReadAccess) {
        guard !caller.readsEverything else { return }
        access.loginData = services.loginDataView
        services.protectedFields.protect(schema, caller, isOwnUser: caller.isOwn(schema.name, objectId), &access)
    }
}

extension ReadAccess {
    /// Hides fields, including from users to whom an owner rule would show them.
    mutating func hide(_ fields: Set<Name>) {
        guard !fields.isEmpty else { return }
        hidden.formUnion(fields)
        for index in ownerRules.indices { ownerRules[index].hidden.formUnion(fields) }
    }
}
