import JSON
import ParseModel
import ServerConfiguration

/// Determines the fields hidden from a caller by class-level permissions and by the option `protectedFields`.
package struct ProtectedFields: Sendable {
    private let configured: [Name: [Name: [Name]]]
    private let exemptsOwner: Bool
    private let loginData: (@Sendable (JSONObject) -> JSONObject)?

    /// - Parameter loginData: A closure that transforms the login data shown to users, or nil to show it as stored.
    package init(_ configuration: Configuration, loginData: (@Sendable (JSONObject) -> JSONObject)? = nil) {
        self.loginData = loginData
        configured = configuration.protectedFields
        exemptsOwner = configuration.protectedFieldsOwnerExempt
    }

    /// Returns a caller's read access to a class.
    ///
    /// - Throws: 119 or 101 if class-level permissions deny the operation.
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

    /// Hides protected fields from a caller.
    ///
    /// The hidden fields are the intersection of all sets that apply to the caller, so an empty set reveals all
    /// protected fields. The `authData` of users is hidden too, except when users fetch their own object.
    package func protect(_ schema: ClassSchema, _ caller: Caller, isOwnUser: Bool, _ access: inout ReadAccess) {
        let isUser = schema.name == "_User"
        let secrets: Set<Name> = isUser ? ["authData"] : []
        let exempt = isUser && exemptsOwner
        if isOwnUser && exempt { return }
        let sets = protectedSets(of: schema)
        var applying: [Set<Name>] = []
        if let everybody = sets["*"] { applying.append(everybody) }
        if let userId = caller.userId {
            // An id in the form of another principal, such as `userField:owner`, doesn't count as a user id.
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
            // Owners who are exempt see all of their protected fields in any result, but their login data only when
            // they fetch their own object.
            let ownSecrets = isOwnUser ? [] : secrets
            access.ownerRules.append(
                ReadAccess.OwnerRule(
                    field: nil, userId: userId, hidden: (exempt ? [] : hidden).union(ownSecrets)))
        }
    }

    /// Merges the fields of the option `protectedFields` into the schema returned by a schema change.
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

    private func protectedSets(of schema: ClassSchema) -> [Name: Set<Name>] {
        var sets = schema.effectivePermissions.protectedFields.mapValues { Set($0) }
        for (entity, fields) in configured[schema.name] ?? [:] {
            sets[entity, default: []].formUnion(fields)
        }
        return sets
    }
}

extension ReadAccess {
    /// Checks that a query doesn't use hidden fields, because its results would reveal their values.
    ///
    /// - Throws: 119 if it does.
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

    /// Queries may use MongoDB's column names.
    private func hides(_ name: String) -> Bool { hidden.contains(SystemClass.field(queriedAs: name)) }

    /// Checks a malformed condition for hidden fields, because its error could reveal something about them.
    ///
    /// - Throws: 119 if the condition uses a hidden field.
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
