import Encoding
import JSON
import Limits
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// Turns a find into a query that includes the caller's rights and the rules of the class.
extension FindPipeline {
    /// Returns the query for a find or get.
    ///
    /// - Throws: 101 if a get's class doesn't exist, or `ParseError` if the query is invalid or not allowed.
    func request(_ find: Find) async throws -> ObjectStore.FindRequest {
        let (caller, options, configuration) = (find.caller, find.options, backend.configuration)
        var request = ObjectStore.FindRequest(className: find.target)
        request.sizeLimit = configuration.maxResponseSize
        request.links = backend.links(find.context)
        request.cost = find.cost
        // Triggers get whole values, which are truncated afterward.
        if find.triggered == nil { request.shorten = find.shorten }
        try ReadRules.authorize(caller, toRead: find.target)
        let schema = backend.catalog.schema(find.target)
        if let objectId = find.objectId, !find.isRewritten {
            guard let schema, !objectId.utf8.contains(0) else { throw ParseError.notFound }
            request.filter = .field(FieldPath("objectId"), .equal(.string(objectId)))
            request.limit = 1
            request.access = try backend.permissions.readAccess(
                schema, .get, caller, isOwnUser: caller.isOwn(find.target, objectId))
        } else {
            try await choose(&request, schema, find)
        }
        guard let schema else { return request }
        // Hidden fields may still be used in conditions. The console rejects conditions that an operator's role may not
        // use.
        request.access.hide(caller.hiddenFields(of: schema.name))
        try project(options, schema, &request, find.context)
        request.place = try backend.finding.place(options.readPreference)
        request.placeOfIncluded =
            try options.includeReadPreference == nil
            ? request.place : backend.finding.place(options.includeReadPreference)
        return request
    }

    private func choose(_ request: inout ObjectStore.FindRequest, _ schema: ClassSchema?, _ find: Find) async throws {
        let (caller, options, configuration) = (find.caller, find.options, backend.configuration)
        let parser = backend.finding.filterParser(find.context)
        if !caller.readsEverything { request.patternTimeLimit = .milliseconds(configuration.regexTimeout) }
        request.order = options.order
        request.skip = options.skip
        request.wantsCount = options.wantsCount
        request.limit = limit(of: find)
        guard let schema else {
            request.filter = try parser.parse(options.condition)
            return
        }
        let id = options.condition.count == 1 ? options.condition["objectId"]?.stringValue : nil
        // A count without objects needs only the permission to count.
        let operation: ClassOperation =
            request.limit == 0 && request.wantsCount ? .count : id != nil || find.isIncluded ? .get : .find
        request.access = try backend.permissions.readAccess(
            schema, operation, caller, isOwnUser: caller.isOwn(find.target, id))
        if request.wantsCount, operation != .count {
            // The permissions to count and to find may cover different objects.
            request.countedBy = try backend.permissions.readAccess(schema, .count, caller).filter
        }
        // A query on a protected field gets the permission error, even if another part of the condition is invalid.
        do throws(ParseError) {
            request.filter = try parser.parse(options.condition)
        } catch {
            try request.access.check(malformed: options.condition, of: schema.name)
            throw error
        }
        try request.access.check(request.filter, request.order, of: schema.name)
        if request.filter.hasSubqueries {
            request.filter = try await request.filter.mapSubqueries { try await self.open($0, find.context) }
        }
        request.filter = try await checkRelations(request.filter, find.context)
    }

    /// Included objects aren't subject to the configured limits.
    private func limit(of find: Find) -> Int {
        let (limit, configuration) = (find.options.limit, backend.configuration)
        if case .included(let count) = find.kind { return limit ?? count }
        if let limit, let maximum = configuration.maxLimit, limit > maximum, find.target != "_Installation" {
            return maximum
        }
        return limit ?? configuration.defaultLimit
    }

    private func open(_ query: Subquery, _ context: RequestContext) async throws -> Subquery {
        var query = query
        let (caller, catalog) = (context.caller, backend.catalog)
        try caller.check("find", of: query.className)
        try backend.permissions.checkClassCreation(query.className, caller)
        if let key = query.redirectKey, let target = catalog.schema(query.className)?.type(of: key)?.targetClass {
            query.className = target.text
            try caller.check("find", of: target.text)
        }
        guard let schema = catalog.schema(query.className) else {
            // The class may be created before the query runs, and no permission was checked for it.
            query.isClosed = true
            return query
        }
        let access = try backend.permissions.readAccess(schema, .find, caller)
        try access.check(query.filter, query.order, of: schema.name)
        if let key = query.key, access.hidden.contains(key.root) {
            throw ParseError.denied(
                ParseError.operationForbidden,
                "This user is not allowed to query \(key.root) on class \(schema.name)")
        }
        query.readers = access.readers
        query.filter = try await checkRelations(query.filter, context).and(access.filter)
        return query
    }

    /// Makes conditions on a relation match nothing if the caller can't read its owner. As in parse-server before 9,
    /// presets below 9 skip this. Throws 119 if the field is hidden from the caller or the owner's class can't be read.
    private func checkRelations(_ filter: Filter, _ context: RequestContext) async throws -> Filter {
        guard backend.configuration.preset >= 9, !context.caller.readsEverything else { return filter }
        var relations: Set<Relation> = []
        filter.visitLeaves { leaf in
            if case .related(let owner, let key) = leaf { relations.insert(Relation(owner: owner, key: Name(key))) }
        }
        var unreadable: Set<Relation> = []
        for relation in relations {
            let (owner, key) = (relation.owner, relation.key.text)
            if let schema = backend.catalog.schema(owner.className),
                let access = try? backend.permissions.readAccess(schema, .get, context.caller),
                access.hidden.contains(key)
            {
                throw ParseError.denied(
                    ParseError.operationForbidden,
                    "This user is not allowed to query \(key) on class \(owner.className)")
            }
            do {
                // Selects only the id, because the owner may be large and own many of the relations.
                _ = try await backend.finding.found(
                    owner.className, owner.objectId, context, parameters: ["keys": "objectId"])
            } catch let error as ParseError where error.code == ParseError.objectNotFound {
                unreadable.insert(relation)
            }
        }
        guard !unreadable.isEmpty else { return filter }
        return filter.mapLeaves { leaf in
            guard case .related(let owner, let key) = leaf else { return leaf }
            return unreadable.contains(Relation(owner: owner, key: Name(key))) ? .any([]) : leaf
        }
    }

    private struct Relation: Hashable {
        let owner: Pointer
        let key: Name
    }

    private func project(
        _ options: FindOptions, _ schema: ClassSchema, _ request: inout ObjectStore.FindRequest,
        _ context: RequestContext
    ) throws(ParseError) {
        var includes = options.includes
        if options.includesAll {
            includes += schema.fields.compactMap { name, field in
                switch field.type {
                case .pointer, .array: [name]
                default: nil
                }
            }
        }
        try checkIncludes(includes, context.caller)
        if var keys = options.keys.map({ Set($0.compactMap(\.first)) }) {
            if options.includesAll { keys.formUnion(includes.compactMap(\.first)) }
            let whole = options.excluded.filter { $0.count == 1 }.compactMap(\.first)
            request.keys = keys.subtracting(whole)
        } else {
            request.excluded = Set(options.excluded.filter { $0.count == 1 }.compactMap(\.first))
        }
        // Owner rules need these fields to decide what the caller sees, so the query reads them even if the response
        // omits them.
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
        request.accessToIncluded = { [backend] className in
            try caller.check("get", of: className)
            guard let schema = backend.catalog.schema(className) else { return ReadAccess(filter: .any([])) }
            var access = try backend.permissions.readAccess(schema, .get, caller)
            access.hide(caller.hiddenFields(of: schema.name))
            return access
        }
    }

    func checkIncludes(_ includes: [[Name]], _ caller: Caller) throws(ParseError) {
        guard !caller.readsEverything else { return }
        let limits = backend.configuration.requestComplexity
        if let maximum = limits.includeDepth, let deepest = includes.map(\.count).max(), deepest > maximum {
            throw ParseError(102, "Include depth of \(deepest) exceeds maximum allowed depth of \(maximum)")
        }
        if let maximum = limits.includeCount, includes.count > maximum {
            throw ParseError(102, "Number of include fields (\(includes.count)) exceeds maximum allowed (\(maximum))")
        }
    }
}

extension Finding {
    /// Returns a parser for the caller's conditions with the configured limits.
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

    /// Finds included objects with a query that a trigger has changed. Calls no triggers again.
    func search(included count: Int, of className: String, _ query: JSONObject, _ context: RequestContext) async throws
        -> [JSONObject]
    {
        let find = try Find(className, .included(count: count), query, context)
        return try await store.find(try await FindPipeline(backend: backend).request(find)).objects
    }

    /// Fetches an object as visible to the caller. Calls no triggers.
    ///
    /// - Throws: The errors of a get.
    package func object(_ className: String, _ objectId: String, _ context: RequestContext) async throws -> JSONObject {
        guard let object = try await found(className, objectId, context).objects.first else {
            throw ParseError.notFound
        }
        return object
    }

    /// Fetches an object's row as visible to the caller. Calls no triggers.
    ///
    /// - Parameters:
    ///   - parameters: The parameters of a get.
    ///   - cost: The row's size when last read, 0 if it is unknown and may be large, or nil if the row is small.
    ///   - loginData: Converts `authData` for a caller who would otherwise get it as stored.
    /// - Throws: The errors of a get.
    func found(
        _ className: String, _ objectId: String, _ context: RequestContext, parameters: JSONObject = [:],
        cost: Cost? = nil, loginData: (@Sendable (JSONObject) -> JSONObject)? = nil
    ) async throws -> ObjectStore.Found {
        try context.caller.check("get", of: className)
        try backend.permissions.checkClassCreation(className, context.caller)
        var find = try Find(className, .object(id: objectId), parameters, context)
        find.cost = cost
        var request = try await FindPipeline(backend: backend).request(find)
        request.access.loginData = request.access.loginData ?? loginData
        let found = try await store.find(request)
        guard found.rowCount > 0 else { throw ParseError.notFound }
        return found
    }

    /// Returns the server for a read preference: always the primary if no replicas are configured.
    ///
    /// - Throws: 102 if the preference is invalid.
    func place(_ preference: JSONValue?) throws(ParseError) -> ReadPlace {
        guard !configuration.replicas.isEmpty, let preference, !preference.isNull else { return .primary }
        switch preference.stringValue?.asciiUppercased {
        case "", "PRIMARY", "PRIMARY_PREFERRED": return .primary
        case "SECONDARY": return .replica
        case "SECONDARY_PREFERRED", "NEAREST": return .replicaIfReachable
        default: throw ParseError(ParseError.invalidQuery, "Not supported read preference.")
        }
    }
}
