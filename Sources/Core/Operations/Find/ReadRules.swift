import JSON
import ParseModel
import ParseStorage
import Rules

/// What is special to reading objects of one class, wherever a caller finds them: in finds and gets, in queries inside
/// of others, in includes, in live queries.
protocol ReadRules: Sendable {
    /// Whether a caller may ask for objects of the class at all. It comes before the class's permissions.
    ///
    /// - Throws: `ParseError` when not.
    func authorize(_ caller: Caller) throws(ParseError)

    /// Which objects are visible to a caller whose rights are limited.
    func condition(for caller: Caller) -> Filter

    /// Fields that only the maintenance key reads.
    var hidden: Set<Name> { get }

    /// What the objects of a find have besides their fields.
    ///
    /// - Returns: A list for each object, of members as JSON (`"key":value`); an empty list where no object has any.
    func members(of found: ObjectStore.Found, _ find: Find, _ permissions: Permissions) async throws -> [[[UInt8]]]

    /// What the answer to a get has besides, which no trigger gets.
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

    /// The rules for reading objects of a class; nil for ordinary classes.
    static func reading(_ className: String) -> (any ReadRules)? {
        guard className.utf8.first == UInt8(ascii: "_") else { return nil }
        return readers[Name(className)]
    }
}

/// Only their own sessions are visible to users, and none to others.
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

/// Users who get themselves get their own token back, as the SDKs keep it with the user; the maintenance key gets what
/// no schema lists.
struct UserReadRules: ReadRules {
    let hidden = SystemClass.secretUserFields

    func members(of found: ObjectStore.Found, _ find: Find, _ permissions: Permissions) async throws -> [[[UInt8]]] {
        try await permissions.internalMembers(found, find.options, find.context.caller)
    }

    func answered(_ find: Find) -> JSONObject {
        guard let user = find.context.caller.user, user.id.hasSameBytes(as: find.objectId), !user.token.isEmpty else {
            // Who views as a user has no session.
            return [:]
        }
        return ["sessionToken": .string(user.token)]
    }
}

extension Permissions {
    /// With whose eyes a caller reads a class.
    ///
    /// - Throws: 119 or 101 when the class-level permissions do not let the caller in.
    func readAccess(
        _ schema: ClassSchema, _ operation: ClassOperation, _ caller: Caller, isOwnUser: Bool = false
    ) throws(ParseError) -> ReadAccess {
        var access = try services.protectedFields.readAccess(schema, operation, caller, isOwnUser: isOwnUser)
        guard let rules = ClassRules.reading(schema.name) else { return access }
        access.filter = access.filter.and(rules.condition(for: caller))
        if caller.power != .maintenance { access.hide(rules.hidden.filter { schema.fields[$0] != nil }) }
        return access
    }
}

extension ReadAccess {
    /// Hides fields, from those who are named by the object as well.
    mutating func hide(_ fields: Set<Name>) {
        guard !fields.isEmpty else { return }
        hidden.formUnion(fields)
        for index in ownerRules.indices { ownerRules[index].hidden.formUnion(fields) }
    }
}
