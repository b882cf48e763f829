import JSON
import ParseModel
import ParseStorage
import Rules
import Tasks

/// Finding and getting objects.
extension Backend {
    /// The answer to a find: `{"results":[…]}`, with the count or the class name where they belong.
    ///
    /// - Throws: Parse's errors for the query and for permissions.
    public func find(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws -> [UInt8] {
        let caller = context.caller
        var options = try FindOptions(find: parameters)
        try caller.check("find", of: className)
        var asked = parameters
        var cloudContext: JSONObject?
        var given: [JSONObject]?
        if let before = findTrigger(.beforeFind, className) {
            var call = FindCall(
                .beforeFind, className, query: parameters, user: try await userRecord(context), context)
            try await before(&call)
            options = try FindOptions(find: call.query)
            (asked, cloudContext, given) = (call.query, call.context, call.objects)
        }
        try checkClassCreation(className, caller)
        if options.explain != nil, !caller.readsEverything, !configuration.databaseOptions.allowPublicExplain {
            throw ParseError(
                ParseError.invalidQuery, "Using the explain query parameter requires the master key")
        }
        var target = className
        if let key = options.redirectKey, let type = catalog.schema(className)?.type(of: key),
            let redirected = type.targetClass
        {
            target = redirected.text
            try caller.check("find", of: target)
        }
        let after = findTrigger(.afterFind, target)
        if let given { return try await answer(given, count: nil, after, target, asked, cloudContext, context) }
        // A request for no objects and no count asks for nothing, and needs no permission.
        if options.limit == 0, !options.wantsCount, options.explain == nil {
            try checkSessionAccess(target, caller)
            guard after == nil else {
                return try await answer([], count: nil, after, target, asked, cloudContext, context)
            }
            return Array("{\"results\":[]}".utf8)
        }
        if options.explain != nil {
            let request = try await request(target, options, context)
            return JSONValue.object(["results": [["QUERY PLAN": try await store.explain(request)]]]).serialized()
        }
        let found = try await search(target, options, context)
        let internals = try await internalMembers(target, found, options, caller)
        let redirected =
            options.redirectKey == nil ? [] : [Array("\"className\":".utf8) + JSONValue.string(target).serialized()]
        let extra = { (row: Int) in internals.isEmpty ? redirected : redirected + internals[row] }
        if after != nil {
            let objects = (0..<found.rowCount).map { found.object($0, extra: extra($0)) }
            return try await answer(objects, count: found.count, after, target, asked, cloudContext, context)
        }
        return try await HeavyWork.run(if: found.isHeavy) {
            try self.write(found, extra: extra, countsNothing: found.count == 0 && countsNothing(target, caller))
        }
    }

    /// The answer of objects that a trigger is to see, or gave.
    private func answer(
        _ objects: [JSONObject], count: Int?, _ after: FindTrigger?, _ className: String, _ query: JSONObject,
        _ cloudContext: JSONObject?, _ context: RequestContext
    ) async throws -> [UInt8] {
        var objects = objects
        if let after {
            var call = FindCall(
                .afterFind, className, query: query, user: try await userRecord(context), cloudContext: cloudContext,
                context)
            call.objects = objects
            try await after(&call)
            objects = call.objects ?? objects
        }
        var answer: JSONObject = ["results": .array(objects.map { .object($0) })]
        if let count { answer["count"] = .number(Double(count)) }
        return JSONValue.object(answer).serialized()
    }

    /// Writes the answer to a find.
    private func write(
        _ found: ObjectStore.Found, extra: (Int) -> [[UInt8]], countsNothing: Bool
    ) throws(ParseError) -> [UInt8] {
        var writer = JSONWriter(capacity: 64 + min(found.rowCount, 1_000) * 512)
        writer.raw("{\"results\":[")
        try found.writeAll(extra: extra, into: &writer)
        writer.byte(UInt8(ascii: "]"))
        if let count = found.count {
            writer.raw(",\"count\":")
            if countsNothing {
                writer.raw("[]")
            } else {
                writer.integer(count)
            }
        }
        writer.byte(UInt8(ascii: "}"))
        return writer.bytes
    }

    /// The answer to a get by id.
    ///
    /// - Throws: 101 when there is no such object or the caller may not see it.
    public func get(_ className: String, _ objectId: String, _ parameters: JSONObject, _ context: RequestContext)
        async throws -> [UInt8]
    {
        var options = try FindOptions(get: parameters)
        var isRewritten = false
        var asked = parameters
        var cloudContext: JSONObject?
        if let before = findTrigger(.beforeFind, className) {
            var call = FindCall(
                .beforeFind, className, query: parameters, objectId: objectId, user: try await userRecord(context),
                context)
            try await before(&call)
            (asked, cloudContext) = (call.query, call.context)
            if let given = call.objects {
                return try await answer(given, objectId, className, asked, cloudContext, context)
            }
            options = try FindOptions(find: call.query)
            isRewritten = options.condition != ["objectId": .string(objectId)]
        }
        let found =
            isRewritten
            ? try await search(className, options, context)
            : try await lookUp(className, objectId, options, context)
        guard found.rowCount > 0 else { throw ParseError.notFound }
        // Users who read themselves get their own token back, as the SDKs keep it with the user.
        var extra: [[UInt8]] = []
        if className == "_User", let user = context.caller.user, user.id.hasSameBytes(as: objectId), !isRewritten {
            extra.append(Array("\"sessionToken\":".utf8) + JSONValue.string(user.token).serialized())
        }
        extra += try await internalMembers(className, found, options, context.caller).first ?? []
        if findTrigger(.afterFind, className) != nil {
            return try await answer(
                [found.object(0, extra: extra)], objectId, className, asked, cloudContext, context)
        }
        return try await HeavyWork.run(if: found.isHeavy) { [extra] in
            var writer = JSONWriter(capacity: 1024)
            try found.write(0, extra: extra, into: &writer)
            return writer.bytes
        }
    }

    /// The answer to a get, of objects that a trigger is to see, or gave.
    private func answer(
        _ objects: [JSONObject], _ objectId: String, _ className: String, _ query: JSONObject,
        _ cloudContext: JSONObject?, _ context: RequestContext
    ) async throws -> [UInt8] {
        var objects = objects
        if let after = findTrigger(.afterFind, className) {
            var call = FindCall(
                .afterFind, className, query: query, objectId: objectId, user: try await userRecord(context),
                cloudContext: cloudContext, context)
            call.objects = objects
            try await after(&call)
            objects = call.objects ?? objects
        }
        guard let object = objects.first else { throw ParseError.notFound }
        return JSONValue.object(object).serialized()
    }

    /// One object as a value, seen with the caller's eyes.
    func object(_ className: String, _ objectId: String, _ context: RequestContext) async throws -> JSONObject {
        try await lookUp(className, objectId, try FindOptions(get: [:]), context).object(0)
    }

    private func lookUp(_ className: String, _ objectId: String, _ options: FindOptions, _ context: RequestContext)
        async throws -> ObjectStore.Found
    {
        let caller = context.caller
        try caller.check("get", of: className)
        try checkClassCreation(className, caller)
        guard let schema = catalog.schema(className), !objectId.utf8.contains(0) else { throw ParseError.notFound }
        var request = ObjectStore.FindRequest(className: className)
        request.filter = .field(FieldPath("objectId"), .equal(.string(objectId)))
        request.limit = 1
        request.sizeLimit = configuration.maxResponseSize
        request.links = links(context)
        request.access = try protectedFields.readAccess(
            schema, .get, caller, isOwnUser: className == "_User" && caller.isUser(objectId))
        try await restrictSessions(&request, caller)
        project(options, schema, &request, context)
        try choosePlace(options, &request)
        let found = try await store.find(request)
        guard found.rowCount > 0 else { throw ParseError.notFound }
        return found
    }
}
