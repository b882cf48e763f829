import JSON
import ParseModel
import ParseStorage
import Rules

/// Finds and gets that triggers see: their objects become values on the way.
extension Backend {
    /// Whether a find can meet a class with find triggers: its own, an included one, or one in a query inside of it.
    func meetsFindTriggers(_ className: String, _ options: FindOptions) -> Bool {
        hasFindTrigger(className) || options.redirectKey != nil || mayIncludeTriggered(className, options)
            || Self.hasSubquery(.object(options.condition))
    }

    /// The answer to a find.
    ///
    /// - Parameter most: How many objects there are at most, for a query inside of another; nil for a find of a client.
    func findTriggered(_ className: String, _ parameters: JSONObject, _ context: RequestContext, most: Int? = nil)
        async throws -> [UInt8]
    {
        let caller = context.caller
        var options = try FindOptions(find: parameters)
        try caller.check("find", of: className)
        let triggered =
            try await beforeFind(className, parameters, isInner: most != nil, context)
            ?? TriggeredFind(query: parameters)
        if triggered.isChanged { options = try FindOptions(find: triggered.query) }
        if let most { options.limit = options.limit ?? most }
        let target = try target(of: className, options, caller)
        if let given = triggered.given { return try await answer(given, nil, target, triggered, context) }
        if options.asksForNothing {
            try checkSessionAccess(target, caller)
            return try await answer([], nil, target, triggered, context)
        }
        if options.explain != nil { return try await explain(target, options, context) }
        options.condition = try await answeringSubqueries(in: options.condition, context)
        let found = try await search(target, options, context)
        let internals = try await internalMembers(target, found, options, caller)
        let redirected = Self.redirectMember(target, options)
        var objects = (0..<found.rowCount).map { row in
            found.object(row, extra: internals.isEmpty ? redirected : redirected + internals[row])
        }
        objects = try await callIncludeTriggers(
            objects, triggeredIncludes(target, options), cloudContext: triggered.cloudContext, context)
        return try await answer(objects, found.count, target, triggered, context)
    }

    private func answer(
        _ objects: [JSONObject], _ count: Int?, _ className: String, _ triggered: TriggeredFind,
        _ context: RequestContext
    ) async throws -> [UInt8] {
        let objects = try await afterFind(className, objects, triggered, context)
        var answer: JSONObject = ["results": .array(objects.map { .object($0) })]
        if count == 0, countsNothing(className, context.caller) {
            answer["count"] = []
        } else if let count {
            answer["count"] = .number(Double(count))
        }
        return JSONValue.object(answer).serialized()
    }

    /// The answer to a get by id.
    func getTriggered(
        _ className: String, _ objectId: String, _ parameters: JSONObject, _ options: FindOptions,
        _ context: RequestContext
    ) async throws -> [UInt8] {
        var options = options
        var isRewritten = false
        let triggered =
            try await beforeFind(className, parameters, objectId: objectId, context)
            ?? TriggeredFind(query: parameters, objectId: objectId)
        if triggered.isChanged {
            options = try FindOptions(find: triggered.query)
            isRewritten = options.condition != ["objectId": .string(objectId)]
        }
        var objects: [JSONObject]
        if let given = triggered.given {
            objects = given
        } else {
            let found =
                isRewritten
                ? try await search(className, options, context)
                : try await lookUp(className, objectId, options, context)
            guard found.rowCount > 0 else { throw ParseError.notFound }
            let internals = try await internalMembers(className, found, options, context.caller).first ?? []
            objects = try await callIncludeTriggers(
                [found.object(0, extra: internals)], triggeredIncludes(className, options),
                cloudContext: triggered.cloudContext, context)
        }
        guard var object = try await afterFind(className, objects, triggered, context).first else {
            throw ParseError.notFound
        }
        if triggered.given == nil, !isRewritten, let token = ownToken(className, objectId, context) {
            object["sessionToken"] = .string(token)
        }
        return JSONValue.object(object).serialized()
    }
}
