import JSON
public import Limits
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration
import Telemetry

/// The steps of a find or get: authorize, call before-triggers, determine the result class, plan, query, call triggers
/// of included objects, call after-triggers, write the response.
///
/// If no trigger can apply, the pipeline copies rows from the database's bytes straight into the response. It decodes
/// objects only for triggers.
struct FindPipeline {
    let backend: Backend

    /// Runs all steps of a find or get.
    ///
    /// - Returns: `{"results":[…]}`, with the count or the class name if requested. For a get, the object.
    /// - Throws: `ParseError` if the query is invalid or not allowed; 101 if a get's object doesn't exist or isn't
    ///   visible.
    func run(_ asked: consuming Find) async throws -> [UInt8] {
        var find = asked
        // Checked before triggers run. As in parse-server, the permissions of the class are checked after `beforeFind`.
        try find.caller.check(find.objectId == nil ? "find" : "get", of: find.className)
        let reachesTriggers =
            backend.findTriggers.hasFindTriggers
            && backend.findTriggers.reachesFindTriggers(find.className, find.options)
        if reachesTriggers { try await callBefore(&find, of: find.className) }
        try aim(&find)
        // Triggers of the class whose objects are read apply, even if the request named another class.
        if reachesTriggers, find.triggered?.given == nil, !find.target.hasSameBytes(as: find.className) {
            try await callBefore(&find, of: find.target)
        }
        if let given = find.triggered?.given { return try await present(given, Cost(isSlow: true), count: nil, find) }
        if find.options.asksForNothing, find.objectId == nil {
            // A request for neither objects nor a count needs no class-level permission.
            try ReadRules.authorize(find.caller, toRead: find.target)
            return try await present([], Cost(), count: nil, find)
        }
        if find.options.explain != nil { return try await explain(find) }
        if reachesTriggers {
            find.options.condition = try await backend.findTriggers.answeringSubqueries(
                in: find.options.condition, find.context)
        }
        // Objects decoded for triggers count as held memory until the request ends.
        let stored =
            try await reachesTriggers
            ? HeldMemory.reading(size: \.cost.bytes) { try await search(find) } : search(find)
        let found = await backend.providers.showing(stored, find.context)
        // Objects for cloud code take several times the memory of rows, both here and in its own process.
        if reachesTriggers, !find.caller.isMaster {
            try AnswerSize.check(found.cost.bytes, backend.configuration.maxTriggerSize)
        }
        let members = try await backend.permissions.internalMembers(found, find)
        guard reachesTriggers else { return try await write(found, members, find) }
        return try await present(try await objects(found, members, find), found.cost, count: found.count, find)
    }

    private func callBefore(_ find: inout Find, of className: String) async throws {
        let triggered =
            try await backend.findTriggers.beforeFind(find, of: className) ?? find.triggered
            ?? TriggeredFind(query: find.parameters)
        if triggered.isChanged {
            find.options = try FindOptions(find: triggered.query)
            find.isRewritten = find.objectId.map { find.options.condition != ["objectId": .string($0)] } ?? false
        }
        if case .inner(let maximum) = find.kind { find.options.limit = find.options.limit ?? maximum }
        find.triggered = triggered
    }

    private func aim(_ find: inout Find) throws(ParseError) {
        try backend.permissions.checkClassCreation(find.className, find.caller)
        if find.options.explain != nil, !find.caller.readsEverything,
            !backend.configuration.databaseOptions.allowPublicExplain
        {
            throw ParseError(ParseError.invalidQuery, "Using the explain query parameter requires the master key")
        }
        guard let key = find.options.redirectKey,
            let target = backend.catalog.schema(find.className)?.type(of: key)?.targetClass
        else { return }
        try find.caller.check("find", of: target.text)
        find.target = target.text
    }

    private func search(_ find: Find) async throws -> ObjectStore.Found {
        let request = try await request(find)
        let operation: DatabaseMeters.Operation =
            find.objectId != nil ? .get : find.options.limit == 0 ? .count : .find
        let found = try await backend.timed(operation, find.target, find.context) {
            try await backend.store.find(request)
        }
        guard find.objectId == nil || found.rowCount > 0 else { throw ParseError.notFound }
        return found
    }

    private func explain(_ find: Find) async throws -> [UInt8] {
        let plan = try await backend.store.explain(try await request(find))
        return JSONValue.object(["results": [["QUERY PLAN": plan]]]).serialized()
    }

    private func objects(_ found: ObjectStore.Found, _ members: [[[UInt8]]], _ find: Find) async throws -> [JSONObject]
    {
        let count = find.objectId == nil ? found.rowCount : 1
        let extra = Self.extra(members, find)
        let objects = try await HeavyWork.makeValues(of: found.cost.bytes) {
            try (0..<count).map { try found.object($0, extra: extra($0)) }
        }
        found.release()
        return try await backend.findTriggers.callIncludeTriggers(
            objects, backend.findTriggers.triggeredIncludes(find.target, find.options), found.cost,
            cloudContext: find.triggered?.cloudContext, find.context)
    }

    private func present(_ objects: [JSONObject], _ cost: Cost, count: Int?, _ find: Find) async throws -> [UInt8] {
        var objects = objects
        if let triggered = find.triggered {
            objects = try await backend.findTriggers.afterFind(
                find.target, objects, query: triggered.query, objectId: find.objectId,
                cloudContext: triggered.cloudContext, find.context)
        }
        if let length = find.shorten { objects = objects.map { ShortenedValue.shortened($0, limit: length) } }
        guard find.objectId == nil else {
            guard let object = objects.first else { throw ParseError.notFound }
            let isAsked = find.triggered?.given == nil && !find.isRewritten
            let members = isAsked ? ReadRules.answered(find) : [:]
            return await HeavyWork.run(cost) { JSONValue.object(object.merging(members) { $1 }).serialized() }
        }
        var answer: JSONObject = ["results": .array(objects.map { .object($0) })]
        if count == 0, backend.permissions.countsNothing(find.target, find.caller) {
            answer["count"] = []
        } else if let count {
            answer["count"] = .number(Double(count))
        }
        return await HeavyWork.run(cost) { [answer] in JSONValue.object(answer).serialized() }
    }

    private func write(_ found: ObjectStore.Found, _ members: [[[UInt8]]], _ find: Find) async throws -> [UInt8] {
        let extra = Self.extra(members, find)
        guard find.objectId == nil else {
            let all = extra(0) + ReadRules.answered(find).map { JSONValue.member($0.key, $0.value) }
            // Most results are small, so this avoids switching executors.
            guard found.cost.isSlow else { return try Self.write(found, extra: all) }
            return try await HeavyWork.run { try Self.write(found, extra: all) }
        }
        let countsNothing = found.count == 0 && backend.permissions.countsNothing(find.target, find.caller)
        guard found.cost.isSlow else { return try Self.write(found, extra: extra, countsNothing: countsNothing) }
        return try await HeavyWork.run { try Self.write(found, extra: extra, countsNothing: countsNothing) }
    }

    private static func write(_ found: ObjectStore.Found, extra: [[UInt8]]) throws(ParseError) -> [UInt8] {
        var writer = JSONWriter(capacity: found.writtenSize)
        try found.write(0, extra: extra, into: &writer)
        return writer.finish()
    }

    private static func write(
        _ found: ObjectStore.Found, extra: (Int) -> [[UInt8]], countsNothing: Bool
    ) throws(ParseError) -> [UInt8] {
        var writer = JSONWriter(capacity: 64 + max(min(found.rowCount, 1_000) * 512, found.writtenSize))
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
        return writer.finish()
    }

    private static func extra(_ members: [[[UInt8]]], _ find: Find) -> @Sendable (Int) -> [[UInt8]] {
        let redirected =
            find.options.redirectKey == nil ? [] : [JSONValue.member("className", .string(find.target))]
        return { row in members.isEmpty ? redirected : redirected + members[row] }
    }
}

extension JSONValue {
    /// Returns an object member as JSON: `"key":value`.
    static func member(_ key: Name, _ value: JSONValue) -> [UInt8] {
        JSONValue.string(key.text).serialized() + [UInt8(ascii: ":")] + value.serialized()
    }
}

/// Find and get requests, and reads of other operations with a caller's rights.
public struct Finding: Sendable, BackendPart {
    let backend: Backend

    /// Runs a find and returns `{"results":[…]}`, with the count or the class name if requested.
    ///
    /// - Parameters:
    ///   - shorten: The length in bytes above which values are truncated, or nil to return whole values.
    ///   - cost: The expected cost, or nil if it is unknown. Other requests don't wait for a slow find.
    /// - Throws: `ParseError` if the query is invalid or not allowed.
    public func find(
        _ className: String, _ parameters: JSONObject, _ context: RequestContext, shorten: Int? = nil,
        cost: Cost? = nil
    ) async throws -> [UInt8] {
        var find = try Find(className, .objects, parameters, context)
        find.cost = cost
        find.shorten = shorten
        return try await FindPipeline(backend: backend).run(find)
    }

    /// Runs a get and returns the object.
    ///
    /// - Parameter shorten: The length in bytes above which values are truncated, or nil to return whole values.
    /// - Throws: 101 if the object doesn't exist or isn't visible, or another `ParseError` if the get isn't allowed.
    public func get(
        _ className: String, _ objectId: String, _ parameters: JSONObject, _ context: RequestContext,
        shorten: Int? = nil
    ) async throws -> [UInt8] {
        var find = try Find(className, .object(id: objectId), parameters, context)
        find.shorten = shorten
        return try await FindPipeline(backend: backend).run(find)
    }
}
