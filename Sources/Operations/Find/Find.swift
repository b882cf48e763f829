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
        let options = try FindOptions(find: parameters)
        try caller.check("find", of: className)
        if hasFindTriggers, meetsFindTriggers(className, options) {
            return try await findTriggered(className, parameters, context)
        }
        let target = try target(of: className, options, caller)
        // A request for no objects and no count asks for nothing, and needs no permission.
        if options.asksForNothing {
            try checkSessionAccess(target, caller)
            return Array("{\"results\":[]}".utf8)
        }
        if options.explain != nil { return try await explain(target, options, context) }
        let found = try await search(target, options, context)
        let internals = try await internalMembers(target, found, options, caller)
        let redirected = Self.redirectMember(target, options)
        let extra = { (row: Int) in internals.isEmpty ? redirected : redirected + internals[row] }
        return try await HeavyWork.run(if: found.isHeavy) {
            try self.write(found, extra: extra, countsNothing: found.count == 0 && countsNothing(target, caller))
        }
    }

    /// The class whose objects a find answers.
    ///
    /// - Throws: 102 or 119 for what the caller may not ask.
    func target(of className: String, _ options: FindOptions, _ caller: Caller) throws(ParseError) -> String {
        try checkClassCreation(className, caller)
        if options.explain != nil, !caller.readsEverything, !configuration.databaseOptions.allowPublicExplain {
            throw ParseError(
                ParseError.invalidQuery, "Using the explain query parameter requires the master key")
        }
        guard let key = options.redirectKey, let redirected = catalog.schema(className)?.type(of: key)?.targetClass
        else { return className }
        try caller.check("find", of: redirected.text)
        return redirected.text
    }

    /// The answer to a question for the plan of a find.
    func explain(_ className: String, _ options: FindOptions, _ context: RequestContext) async throws -> [UInt8] {
        let request = try await request(className, options, context)
        return JSONValue.object(["results": [["QUERY PLAN": try await store.explain(request)]]]).serialized()
    }

    /// What each object of a find has besides where it is of another class than was asked for.
    static func redirectMember(_ className: String, _ options: FindOptions) -> [[UInt8]] {
        options.redirectKey == nil ? [] : [Array("\"className\":".utf8) + JSONValue.string(className).serialized()]
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
        let options = try FindOptions(get: parameters)
        if hasFindTriggers, meetsFindTriggers(className, options) {
            return try await getTriggered(className, objectId, parameters, options, context)
        }
        let found = try await lookUp(className, objectId, options, context)
        // Users who read themselves get their own token back, as the SDKs keep it with the user.
        var extra: [[UInt8]] = []
        if let token = ownToken(className, objectId, context) {
            extra.append(Array("\"sessionToken\":".utf8) + JSONValue.string(token).serialized())
        }
        extra += try await internalMembers(className, found, options, context.caller).first ?? []
        return try await HeavyWork.run(if: found.isHeavy) { [extra] in
            var writer = JSONWriter(capacity: 1024)
            try found.write(0, extra: extra, into: &writer)
            return writer.bytes
        }
    }

    /// The session token of users who read themselves.
    func ownToken(_ className: String, _ objectId: String, _ context: RequestContext) -> String? {
        guard className == "_User", let user = context.caller.user, user.id.hasSameBytes(as: objectId) else {
            return nil
        }
        return user.token
    }

    /// One object as a value, seen with the caller's eyes.
    func object(_ className: String, _ objectId: String, _ context: RequestContext) async throws -> JSONObject {
        try await lookUp(className, objectId, try FindOptions(get: [:]), context).object(0)
    }

    func lookUp(_ className: String, _ objectId: String, _ options: FindOptions, _ context: RequestContext)
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
