import JSON
import ParseModel
import ParseStorage

/// Class-level permissions: what a caller may do with a class, and which of its fields stay hidden.
extension Backend {
    /// Checks that an operation on a class is let through.
    ///
    /// - Returns: A condition on objects, when the caller is let through to some objects only.
    /// - Throws: 119, or 101 where Parse hides that the class exists.
    func permit(_ operation: ClassOperation, on schema: ClassSchema, _ caller: Caller) throws(ParseError) -> Filter {
        if operation == .create || operation == .update || operation == .delete || operation == .addField
            ? caller.writesEverything : caller.readsEverything
        {
            return .everything
        }
        let permissions = schema.effectivePermissions
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
                "Permission denied for action \(operation.rawValue) on class \(schema.name).")
        }
        guard let userId = caller.userId else { return .any([]) }
        return Self.pointing(fields.texts, to: userId)
    }

    /// Objects of which one of the fields points to a user.
    private static func pointing(_ fields: [String], to userId: String) -> Filter {
        let pointer = Pointer(className: "_User", objectId: userId).json
        return .any(fields.map { .field(FieldPath($0), .equal(pointer)) })
    }

    /// With whose eyes a caller reads a class.
    ///
    /// - Throws: 119 or 101 when the class-level permissions do not let the caller in.
    func readAccess(_ schema: ClassSchema, _ operation: ClassOperation, _ caller: Caller, isOwnUser: Bool = false)
        throws(ParseError) -> ReadAccess
    {
        let filter = try permit(operation, on: schema, caller)
        var access = ReadAccess(readers: caller.readPrincipals, filter: filter)
        guard !caller.readsEverything else { return access }
        protect(schema, caller, isOwnUser: isOwnUser, &access)
        return access
    }

    /// Whether a count is answered as an empty list: up to line 7 to somebody without a user, in a class that lets
    /// through to some objects only.
    func countsNothing(_ className: String, _ caller: Caller) -> Bool {
        guard configuration.preset < 8, caller.userId == nil, let schema = catalog.schema(className),
            let filter = try? permit(.count, on: schema, caller)
        else { return false }
        return filter == .any([])
    }

    /// Adds what protected fields hide from a caller.
    ///
    /// The hidden fields are the intersection of all sets that apply to the caller, so that an empty set unhides.
    func protect(_ schema: ClassSchema, _ caller: Caller, isOwnUser: Bool, _ access: inout ReadAccess) {
        let isUser = schema.name == "_User"
        let secrets: Set<Name> = isUser ? ["authData"] : []
        let exempt = isUser && configuration.protectedFieldsOwnerExempt
        if isOwnUser && exempt { return }
        let sets = protectedSets(of: schema)
        var applying: [Set<Name>] = []
        if let everybody = sets["*"] { applying.append(everybody) }
        if let userId = caller.userId {
            // An id that reads as another principal, such as `userField:owner`, is nobody's here.
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
            // Users see all of their own fields, wherever they meet themselves; what providers gave, where they ask for
            // themselves.
            let ownSecrets = isOwnUser ? [] : secrets
            access.ownerRules.append(
                ReadAccess.OwnerRule(
                    field: nil, userId: userId, hidden: (exempt ? [] : hidden).union(ownSecrets)))
        }
    }

    /// The sets of hidden fields of a class, by whom they are hidden from: the class's own, joined with the option's.
    private func protectedSets(of schema: ClassSchema) -> [Name: Set<Name>] {
        var sets = schema.effectivePermissions.protectedFields.mapValues { Set($0) }
        for (entity, fields) in configuration.protectedFields[schema.name] ?? [:] {
            sets[entity, default: []].formUnion(fields)
        }
        return sets
    }

    /// Checks that a query does not ask for fields that the caller may not see: an answer would tell their values.
    ///
    /// - Throws: 119.
    func checkProtected(
        _ filter: Filter, _ order: [SortKey], _ schema: ClassSchema, _ access: ReadAccess, _ caller: Caller
    )
        throws(ParseError)
    {
        guard !caller.readsEverything, !access.hidden.isEmpty else { return }
        var refused: (field: String, verb: String)?
        filter.visitLeaves { leaf in
            if case .field(let path, _) = leaf, access.hidden.contains(path.root), refused == nil {
                refused = (path.root, "query")
            }
        }
        if refused == nil, let key = order.first(where: { access.hidden.contains($0.path.root) }) {
            refused = (key.path.root, "sort by")
        }
        guard let refused else { return }
        throw .denied(
            ParseError.operationForbidden,
            "This user is not allowed to \(refused.verb) \(refused.field) on class \(schema.name)")
    }

    /// The same for a condition that cannot be read as a whole.
    func checkProtected(
        malformed condition: JSONObject, _ schema: ClassSchema, _ access: ReadAccess, _ caller: Caller
    ) throws(ParseError) {
        guard !caller.readsEverything, !access.hidden.isEmpty else { return }
        var conditions = [condition]
        while let next = conditions.popLast() {
            for (key, value) in next {
                let root = FieldPath(key).root
                guard !access.hidden.contains(root) else {
                    throw .denied(
                        ParseError.operationForbidden,
                        "This user is not allowed to query \(root) on class \(schema.name)")
                }
                if key.hasPrefix("$") { conditions += value.arrayValue?.compactMap(\.objectValue) ?? [] }
            }
        }
    }

    /// Classes whose rows are not objects: they lack the columns of objects.
    private static let ownRoutes: Set<Name> = ["_Hooks", "_GlobalConfig", "_GraphQLConfig"]

    /// Refuses clients what only the master key reaches.
    ///
    /// - Throws: 119.
    func checkClass(_ name: String, _ operation: String, _ caller: Caller) throws(ParseError) {
        let isWrite = operation != "get" && operation != "find"
        if caller.power == .readOnlyMaster, isWrite {
            throw .denied(
                ParseError.operationForbidden,
                "read-only masterKey isn't allowed to perform the \(operation) operation.")
        }
        if isWrite, Self.ownRoutes.contains(name) {
            throw ParseError(
                ParseError.operationForbidden, "Objects of \(name) are written by routes of their own.")
        }
        guard caller.power == .client else { return }
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

    /// Refuses clients a class that does not exist, where they may not make classes.
    ///
    /// - Throws: 119.
    func checkClassCreation(_ name: String, _ caller: Caller) throws(ParseError) {
        guard !configuration.allowClientClassCreation, !caller.readsEverything, !SystemClass.names.contains(name),
            catalog.schema(name) == nil
        else { return }
        throw .denied(
            ParseError.operationForbidden, "This user is not allowed to access non-existent class: \(name)")
    }
}
