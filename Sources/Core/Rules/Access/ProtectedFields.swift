import JSON
import ParseModel
import ServerConfiguration

/// Which fields of which objects a caller does not see: those that the classes protect, and those of an option.
package struct ProtectedFields: Sendable {
    private let configured: [Name: [Name: [Name]]]
    /// Whether users see all own fields.
    private let exemptsOwner: Bool
    /// How users see their login data, or nil to show it as stored.
    private let loginData: (@Sendable (JSONObject) -> JSONObject)?

    /// - Parameter loginData: How users see what login providers know of them; nil for as it is stored.
    package init(_ configuration: Configuration, loginData: (@Sendable (JSONObject) -> JSONObject)? = nil) {
        self.loginData = loginData
        configured = configuration.protectedFields
        exemptsOwner = configuration.protectedFieldsOwnerExempt
    }

    /// With whose eyes a caller reads a class.
    ///
    /// - Throws: 119 or 101 when the class-level permissions do not let the caller in.
    package func readAccess(
        _ schema: ClassSchema, _ operation: ClassOperation, _ caller: Caller, isOwnUser: Bool = false
    )
        throws(ParseError) -> ReadAccess
    {
        let filter = try schema.permit(operation, to: caller)
        var access = ReadAccess(readers: caller.readPrincipals, filter: filter)
        guard !caller.readsEverything else { return access }
        access.loginData = loginData
        protect(schema, caller, isOwnUser: isOwnUser, &access)
        return access
    }

    /// Adds what protected fields hide from a caller.
    ///
    /// The hidden fields are the intersection of all sets that apply to the caller, so that an empty set unhides.
    package func protect(_ schema: ClassSchema, _ caller: Caller, isOwnUser: Bool, _ access: inout ReadAccess) {
        let isUser = schema.name == "_User"
        let secrets: Set<Name> = isUser ? ["authData"] : []
        let exempt = isUser && exemptsOwner
        if isOwnUser && exempt { return }
        let sets = protectedSets(of: schema)
        var applying: [Set<Name>] = []
        if let everybody = sets["*"] { applying.append(everybody) }
        if let userId = caller.userId {
            // An id that reads as another principal, such as `userField:owner`, is no user's here.
            let own = Principal.isReserved(Name(userId)) ? [] : [Name(userId)]
            for entity in ["authenticated"] + own + (caller.user?.roles ?? []) {
                if let set = sets[entity] { applying.append(set) }
            }
        }
        var hidden = applying.first ?? []
        for set in applying.dropFirst() { hidden.formIntersection(set) }
        access.hidden = hidden.union(secrets)
        guard let userId = caller.userId else { return }
        for (entity, set) in sets {
            guard let field = entity.dropping(prefix: "userField:") else { continue }
            access.ownerRules.append(
                ReadAccess.OwnerRule(
                    field: field, userId: userId, hidden: set.union(secrets)))
        }
        if isUser {
            // Users see all of their own fields, in whatever result they are; what providers gave, where they ask for
            // themselves.
            let ownSecrets = isOwnUser ? [] : secrets
            access.ownerRules.append(
                ReadAccess.OwnerRule(
                    field: nil, userId: userId, hidden: (exempt ? [] : hidden).union(ownSecrets)))
        }
    }

    /// Adds what the option hides of a class to the form in which a change of it is answered.
    package func describe(_ className: String, in object: JSONObject) -> JSONObject {
        guard let option = configured[className], var permissions = object["classLevelPermissions"]?.objectValue else {
            return object
        }
        var hidden = permissions["protectedFields"]?.objectValue ?? [:]
        for (entity, fields) in option {
            let own = hidden[entity]?.arrayValue ?? []
            hidden[entity] = .array(own + fields.map { .string($0.text) }.filter { !own.contains($0) })
        }
        permissions["protectedFields"] = .object(hidden)
        var object = object
        object["classLevelPermissions"] = .object(permissions)
        return object
    }

    /// Hidden fields by principal: the class's own, joined with the option's.
    private func protectedSets(of schema: ClassSchema) -> [Name: Set<Name>] {
        var sets = schema.effectivePermissions.protectedFields.mapValues { Set($0) }
        for (entity, fields) in configured[schema.name] ?? [:] {
            sets[entity, default: []].formUnion(fields)
        }
        return sets
    }
}

extension ReadAccess {
    /// Checks that a query does not ask for fields that the caller may not see: an answer would reveal their values.
    ///
    /// - Throws: 119.
    package func check(_ filter: Filter, _ order: [SortKey], of className: String) throws(ParseError) {
        guard !hidden.isEmpty else { return }
        var refused: (field: String, verb: String)?
        filter.visitLeaves { leaf in
            if case .field(let path, _) = leaf, hides(path.root), refused == nil { refused = (path.root, "query") }
        }
        if refused == nil, let key = order.first(where: { hides($0.path.root) }) {
            refused = (key.path.root, "sort by")
        }
        guard let refused else { return }
        throw .denied(
            ParseError.operationForbidden,
            "This user is not allowed to \(refused.verb) \(refused.field) on class \(className)")
    }

    /// Whether the caller may not see a field, also by its MongoDB name.
    private func hides(_ name: String) -> Bool { hidden.contains(SystemClass.field(queriedAs: name)) }

    /// The same for a condition that cannot be read as a whole.
    package func check(malformed condition: JSONObject, of className: String) throws(ParseError) {
        guard !hidden.isEmpty else { return }
        var conditions = [condition]
        while let next = conditions.popLast() {
            for (key, value) in next {
                let root = FieldPath(key).root
                guard !hides(root) else {
                    throw .denied(
                        ParseError.operationForbidden,
                        "This user is not allowed to query \(root) on class \(className)")
                }
                if key.hasPrefix("$") { conditions += value.arrayValue?.compactMap(\.objectValue) ?? [] }
            }
        }
    }
}
