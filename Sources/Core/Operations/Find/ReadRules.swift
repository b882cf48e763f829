import JSON
import ParseModel
import ParseStorage
import Rules

/// Class-specific rules for reading objects in finds, gets, subqueries, includes and live queries.
protocol ReadRules: Sendable {
    /// Checks whether a caller may read the class at all. Runs before the class-level permissions.
    ///
    /// - Throws: `ParseError` if the caller may not.
    func authorize(_ caller: Caller) throws(ParseError)

    /// Returns a filter for the objects that the caller may see.
    func condition(for caller: Caller) -> Filter

    /// Fields that only the maintenance key can read.
    var hidden: Set<Name> { get }

    /// Returns additional members for the objects of a find.
    ///
    /// - Returns: A list of JSON members (`"key":value`) for each object, or an empty list if no object has any.
    func members(of found: ObjectStore.Found, _ find: Find, _ permissions: Permissions) async throws -> [[[UInt8]]]

    /// Returns additional members for the response to a get. Triggers don't see them.
    func answered(_ find: Find) -> JSONObject
}

extension ReadRules {
    func authorize(_ caller: Caller) throws(ParseError) {}
    func condition(for caller: Caller) -> Filter { .everything }
    var hidden: Set<Name> { [] }
    func members(of found: ObjectStore.Found, _ find: Find, _ permissions: Permissions) async throws -> [[[UInt8]]] {
        []
    }
    func answered(_ find: Find) -> JSONObject { [:] }
}

extension ClassRules {
    private static let readers: [Name: any ReadRules] = ["_User": UserReadRules(), "_Session": SessionReadRules()]

    /// Returns the rules for reading a class, or nil for ordinary classes.
    static func reading(_ className: String) -> (any ReadRules)? {
        guard className.utf8.first == UInt8(ascii: "_") else { return nil }
        return readers[Name(className)]
    }
}

/// Users see only their own sessions. Callers who aren't logged in get an error.
struct SessionReadRules: ReadRules {
    func authorize(_ caller: Caller) throws(ParseError) {
        guard !caller.readsEverything, caller.userId == nil else { return }
        throw ParseError(ParseError.invalidSessionToken, "Invalid session token", publicMessage: "Permission denied")
    }

    func condition(for caller: Caller) -> Filter {
        guard !caller.readsEverything else { return .everything }
        return caller.userId.map(Self.sessions) ?? .any([])
    }

    static func sessions(of userId: String) -> Filter {
        .field(FieldPath("user"), .equal(Pointer(className: "_User", objectId: userId).json))
    }
}

/// Users who get themselves receive their session token, because SDKs store it with the user. The maintenance key
/// receives the internal fields.
struct UserReadRules: ReadRules {
    let hidden = SystemClass.secretUserFields

    func members(of found: ObjectStore.Found, _ find: Find, _ permissions: Permissions) async throws -> [[[UInt8]]] {
        try await permissions.internalMembers(found, find.options, find.context.caller)
    }

    func answered(_ find: Find) -> JSONObject {
        guard let user = find.context.caller.user, user.id.hasSameBytes(as: find.objectId), !user.token.isEmpty else {
            // An operator viewing as a user has no session.
            return [:]
        }
        return ["sessionToken": .string(user.token)]
    }
}

extension Permissions {
    /// Returns the rows and fields of a class that the caller may read.
    ///
    /// - Throws: 119 or 101 if the class-level permissions deny the operation.
    func readAccess(
        _ schema: ClassSchema, _ operation: ClassOperation, _ caller: Caller, isOwnUser: Bool = false
    ) throws(ParseError) -> ReadAccess {
        var access = try services.protectedFields.readAccess(schema, operation, caller, isOwnUser: isOwnUser)
        guard let rules = ClassRules.reading(schema.name) else { return access }
        access.filter = access.filter.and(rules.condition(for: caller))
        if caller.power != .maintenance { access.hide(rules.hidden.filter { schema.fields[$0] != nil }) }
        return access
    }

    /// Restricts an object that triggers get to the fields that the caller may see.
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
