import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// What a find may find: the caller's rights, built into it before it is compiled.
extension Backend {
    /// Runs a find with the caller's rights.
    func search(_ className: String, _ options: FindOptions, _ context: RequestContext) async throws
        -> ObjectStore.Found
    {
        try await store.find(try await request(className, options, context))
    }

    /// A find with the caller's rights built in.
    func request(_ className: String, _ options: FindOptions, _ context: RequestContext) async throws
        -> ObjectStore.FindRequest
    {
        let caller = context.caller
        let parser = filterParser(context)
        var request = ObjectStore.FindRequest(className: className)
        if !caller.readsEverything { request.patternTimeLimit = .milliseconds(configuration.regexTimeout) }
        request.order = options.order
        request.skip = options.skip
        request.wantsCount = options.wantsCount
        request.limit = options.limit ?? configuration.defaultLimit
        if let limit = options.limit, let most = configuration.maxLimit, limit > most, className != "_Installation" {
            request.limit = most
        }
        request.sizeLimit = configuration.maxResponseSize
        request.links = links(context)
        try checkSessionAccess(className, caller)
        guard let schema = catalog.schema(className) else {
            request.filter = try parser.parse(options.condition)
            return request
        }
        let isById = options.condition.count == 1 && options.condition["objectId"]?.stringValue != nil
        // A count without objects needs the permission to count, and no other.
        let operation: ClassOperation = request.limit == 0 && request.wantsCount ? .count : isById ? .get : .find
        request.access = try protectedFields.readAccess(
            schema, operation, caller,
            isOwnUser: isById && className == "_User" && caller.isUser(options.condition["objectId"]?.stringValue))
        if request.wantsCount, operation != .count { _ = try schema.permit(.count, to: caller) }
        // A caller who may not find, or not by a field, is told that, whatever the condition is.
        do throws(ParseError) {
            request.filter = try parser.parse(options.condition)
        } catch {
            try request.access.check(malformed: options.condition, of: schema.name)
            throw error
        }
        try request.access.check(request.filter, request.order, of: schema.name)
        if request.filter.hasSubqueries {
            request.filter = try await request.filter.mapSubqueries { try await self.open($0, context) }
        }
        request.filter = try await checkRelations(request.filter, context)
        try await restrictSessions(&request, caller)
        project(options, schema, &request, context)
        try choosePlace(options, &request)
        try checkIncludes(options, caller)
        return request
    }

    /// What reads the conditions of a caller, within the limits of the deployment.
    func filterParser(_ context: RequestContext) -> FilterParser {
        var limits = FilterParser.Limits()
        limits.conditionDepth = configuration.requestComplexity.queryDepth
        limits.subqueryDepth = configuration.requestComplexity.subqueryDepth
        limits.subqueryLimit = configuration.requestComplexity.subqueryLimit
        limits.allowsRegex = configuration.requestComplexity.allowRegex
        limits.allowsBackReferences = configuration.allowRegexBackReferences
        return FilterParser(
            isMaster: context.caller.readsEverything, now: context.now.milliseconds, limits: limits,
            unknownOperatorCode: configuration.preset < 8 ? 107 : 102,
            requiresInnerCondition: (5..<9).contains(configuration.preset))
    }

    /// Nobody but users looks for sessions.
    func checkSessionAccess(_ className: String, _ caller: Caller) throws(ParseError) {
        guard className == "_Session", !caller.readsEverything, caller.userId == nil else { return }
        throw ParseError(ParseError.invalidSessionToken, "Invalid session token", publicMessage: "Permission denied")
    }

    /// Clients meet only their own sessions.
    func restrictSessions(_ request: inout ObjectStore.FindRequest, _ caller: Caller) async throws {
        guard request.className == "_Session", !caller.readsEverything else { return }
        guard let userId = caller.userId else {
            throw ParseError(
                ParseError.invalidSessionToken, "Invalid session token", publicMessage: "Permission denied")
        }
        let own = Filter.field(
            FieldPath("user"), .equal(Pointer(className: "_User", objectId: userId).json))
        request.filter = request.filter.and(own)
    }

    /// Gives a query inside a query the caller's rights on its class.
    private func open(_ query: Subquery, _ context: RequestContext) async throws -> Subquery {
        var query = query
        let caller = context.caller
        try caller.check("find", of: query.className)
        try checkClassCreation(query.className, caller)
        if let key = query.redirectKey, let target = catalog.schema(query.className)?.type(of: key)?.targetClass {
            query.className = target.text
            try caller.check("find", of: target.text)
        }
        guard let schema = catalog.schema(query.className) else { return query }
        let access = try protectedFields.readAccess(schema, .find, caller)
        try access.check(query.filter, query.order, of: schema.name)
        if let key = query.key, access.hidden.contains(key.root) {
            throw ParseError.denied(
                ParseError.operationForbidden,
                "This user is not allowed to query \(key.root) on class \(schema.name)")
        }
        query.readers = access.readers
        query.filter = try await checkRelations(query.filter, context).and(access.filter)
        if query.className == "_Session", !caller.readsEverything {
            let own = Pointer(className: "_User", objectId: caller.userId ?? "").json
            query.filter = query.filter.and(.field(FieldPath("user"), .equal(own)))
        }
        return query
    }

    /// The owner of a relation must be readable to the caller who asks for what it relates to.
    ///
    /// Servers before 9 did not look; a deployment that comes from one keeps that.
    private func checkRelations(_ filter: Filter, _ context: RequestContext) async throws -> Filter {
        guard configuration.preset >= 9, !context.caller.readsEverything else { return filter }
        var relations: [(owner: Pointer, key: String)] = []
        filter.visitLeaves { leaf in
            if case .related(let owner, let key) = leaf { relations.append((owner, key)) }
        }
        for (owner, key) in relations {
            if let schema = catalog.schema(owner.className),
                let access = try? protectedFields.readAccess(schema, .get, context.caller), access.hidden.contains(key)
            {
                throw ParseError.denied(
                    ParseError.operationForbidden,
                    "This user is not allowed to query \(key) on class \(owner.className)")
            }
            do {
                _ = try await object(owner.className, owner.objectId, context)
            } catch let error as ParseError where error.code == ParseError.objectNotFound {
                return .any([])
            }
        }
        return filter
    }

    /// What of each object is wanted, and what is included.
    func project(
        _ options: FindOptions, _ schema: ClassSchema, _ request: inout ObjectStore.FindRequest,
        _ context: RequestContext
    ) {
        var includes = options.includes
        if options.includesAll {
            includes += schema.fields.compactMap { name, field in
                switch field.type {
                case .pointer, .array: [name]
                default: nil
                }
            }
        }
        if var keys = options.keys.map({ Set($0.compactMap(\.first)) }) {
            if options.includesAll { keys.formUnion(includes.compactMap(\.first)) }
            let whole = options.excluded.filter { $0.count == 1 }.compactMap(\.first)
            request.keys = keys.subtracting(whole)
        } else {
            request.excluded = Set(options.excluded.filter { $0.count == 1 }.compactMap(\.first))
        }
        // A field of the object itself decides who sees what, so it is read even when it is not wanted.
        for rule in request.access.ownerRules {
            guard let field = rule.field else { continue }
            let isNew = request.keys?.insert(Name(field)).inserted ?? false
            if isNew || request.excluded.remove(Name(field)) != nil { request.unwritten.insert(Name(field)) }
        }
        guard !includes.isEmpty else { return }
        let plain = Set(includes.lazy.filter { $0.count == 1 }.map { $0[0] })
        request.include = IncludeNode(
            paths: includes, keys: (options.keys ?? []).filter { $0.count > 1 || plain.contains($0[0]) },
            excluded: options.excluded)
        let caller = context.caller
        request.accessToIncluded = { [self] className in
            try caller.check("get", of: className)
            guard let schema = catalog.schema(className) else { return ReadAccess(filter: .any([])) }
            var access = try protectedFields.readAccess(schema, .get, caller)
            if className == "_Session", !caller.readsEverything {
                access.filter = access.filter.and(
                    .field(
                        FieldPath("user"), .equal(Pointer(className: "_User", objectId: caller.userId ?? "").json)))
            }
            return access
        }
    }

    private func checkIncludes(_ options: FindOptions, _ caller: Caller) throws(ParseError) {
        guard !caller.readsEverything else { return }
        let limits = configuration.requestComplexity
        if let most = limits.includeDepth, let deepest = options.includes.map(\.count).max(), deepest > most {
            throw ParseError(102, "Include depth of \(deepest) exceeds maximum allowed depth of \(most)")
        }
        if let most = limits.includeCount, options.includes.count > most {
            throw ParseError(
                102, "Number of include fields (\(options.includes.count)) exceeds maximum allowed (\(most))")
        }
    }
}
