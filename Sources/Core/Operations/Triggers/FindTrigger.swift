import JSON
import Rules
import ServerConfiguration

public enum FindEvent: String, Sendable, CaseIterable {
    /// Before a find, get, aggregation, include or subquery, or a read for a delete trigger. Can change the query,
    /// return results instead of it (except for a delete trigger), or reject it.
    case beforeFind
    /// After the same reads, except aggregations. Can change the results or reject the request.
    case afterFind
}

/// The input and output of a find trigger.
public struct FindCall: Sendable {
    /// The parameters of the find, such as `where` (parsed if sent as text), `limit`, `order` and `include`. A
    /// `beforeFind` trigger can change them.
    public var query: JSONObject
    /// Whether one object is fetched by its id.
    public let isGet: Bool
    /// For `afterFind`, the results, which can be changed. For `beforeFind`, results to return without querying, or nil
    /// to query.
    public var objects: [JSONObject]?
    /// The context passed on from callers and earlier triggers. A `beforeFind` trigger can change it.
    public var context: JSONObject
    /// The request, including the user's record.
    public let request: RequestContext

    init(
        query: JSONObject, objectId: String? = nil, cloudContext: JSONObject? = nil, _ request: RequestContext
    ) {
        self.query = query
        if let objectId {
            self.query["where"] = ["objectId": .string(objectId)]
        } else if case .string(let text)? = query["where"], let condition = try? JSONValue(parsing: Array(text.utf8)) {
            self.query["where"] = condition
        }
        isGet = objectId != nil
        self.request = request
        context = cloudContext ?? request.facts?.cloudContext ?? [:]
    }
}

/// A find trigger. Errors reject the find, and a `ParseError` is sent to the client unchanged.
public typealias FindTrigger = @Sendable (inout FindCall) async throws -> Void

/// Calls the triggers of finds, including those of included objects and subqueries.
public struct FindTriggers: Sendable, BackendPart {
    let backend: Backend

    /// Returns the find trigger of a class, or nil if it has none.
    func findTrigger(_ event: FindEvent, _ className: String) -> FindTrigger? {
        services.activeTriggers?.findTrigger(for: event, of: Name(className))
    }
}

struct TriggeredFind: Sendable {
    /// The query for the following steps and triggers.
    var query: JSONObject
    /// The context for later triggers, or nil for the request's context.
    var cloudContext: JSONObject?
    /// Results to return without querying, or nil to query.
    var given: [JSONObject]?
    /// Whether a `beforeFind` trigger was called and may have changed the query.
    var isChanged = false
}

extension FindTriggers {
    /// Whether any class has find triggers.
    var hasFindTriggers: Bool { services.activeTriggers?.hasFindTriggers == true }

    /// Calls the `beforeFind` trigger of the requested class or of the class of the results.
    ///
    /// - Returns: The query, changed by the trigger if there is one, or nil if the class has no find triggers.
    /// - Throws: Errors of the trigger.
    func beforeFind(_ find: Find, of className: String) async throws -> TriggeredFind? {
        guard hasFindTrigger(className) else { return nil }
        try backend.triggers.checkMayCallCode()
        guard let before = findTrigger(.beforeFind, className) else {
            return find.triggered ?? TriggeredFind(query: parametersWithLimit(find))
        }
        let request = try await backend.triggers.withUser(find.context)
        var call = FindCall(
            query: find.triggered?.query ?? parametersWithLimit(find), objectId: find.objectId,
            cloudContext: find.triggered?.cloudContext, request)
        try await before(&call)
        return TriggeredFind(
            query: call.query, cloudContext: call.context, given: call.objects, isChanged: true)
    }

    /// Adds the default limit, because triggers of finds always see one.
    private func parametersWithLimit(_ find: Find) -> JSONObject {
        guard case .objects = find.kind, find.parameters["limit"] == nil else { return find.parameters }
        var parameters = find.parameters
        parameters["limit"] = .number(Double(configuration.defaultLimit))
        return parameters
    }

    /// Calls the `afterFind` trigger of a class, if any, and returns its results.
    ///
    /// - Throws: Errors of the trigger.
    func afterFind(
        _ className: String, _ objects: [JSONObject], query: JSONObject, objectId: String?, cloudContext: JSONObject?,
        _ context: RequestContext
    ) async throws -> [JSONObject] {
        guard let after = findTrigger(.afterFind, className) else { return objects }
        var call = FindCall(
            query: query, objectId: objectId, cloudContext: cloudContext,
            try await backend.triggers.withUser(context))
        call.objects = objects
        try await after(&call)
        return call.objects ?? objects
    }
}
