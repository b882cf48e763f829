import JSON
import ParseStorage
import Rules
import ServerConfiguration

/// When something is called around a find or a get.
public enum FindEvent: String, Sendable, CaseIterable {
    /// Before it; may change what is asked for, answer it, or refuse.
    case beforeFind
    /// After it; may change what is answered, or refuse.
    case afterFind
}

/// A find or a get, as a trigger sees it and changes it.
public struct FindCall: Sendable {
    /// When it is called.
    public let event: FindEvent
    /// The class of the objects.
    public let className: String
    /// What is asked for, with the parameters of a find: `where` as an object, `limit`, `skip`, `order`, `include`,
    /// `keys`, `count`. Before the find it may be changed.
    public var query: JSONObject
    /// Whether one object is asked for by its id.
    public let isGet: Bool
    /// After the find: what was found, which may be changed. Before it: what is answered without a find; nil for the
    /// find.
    public var objects: [JSONObject]?
    /// What callers and earlier triggers hand on. Before the find it may be changed.
    public var context: JSONObject
    /// The request, with the record of its user.
    public let request: RequestContext
    /// Who calls.
    public var caller: Caller { request.caller }

    init(
        _ event: FindEvent, _ className: String, query: JSONObject, objectId: String? = nil,
        cloudContext: JSONObject? = nil, _ request: RequestContext
    ) {
        self.event = event
        self.className = className
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

/// What is called around a find. What it throws refuses the find: a `ParseError` goes to the client as it is.
public typealias FindTrigger = @Sendable (inout FindCall) async throws -> Void

/// The triggers before and after finds, those of included objects and of inner queries among them.
public struct FindTriggers: Sendable, BackendPart {
    let backend: Backend

    /// What is called around finds of a class; nil for nothing.
    func findTrigger(_ event: FindEvent, _ className: String) -> FindTrigger? {
        guard let triggerSet = services.triggerSet, triggerSet.isActive else { return nil }
        return triggerSet.findTrigger(for: event, of: Name(className))
    }
}

struct TriggeredFind: Sendable {
    /// What is asked for, as the triggers after it get it.
    var query: JSONObject
    /// The one object that is asked for; nil for a find.
    var objectId: String?
    /// What is handed on; nil for what the request brought.
    var cloudContext: JSONObject?
    /// What is answered without a find; nil for the find.
    var given: [JSONObject]?
    /// Whether a trigger before the find was called, so that another may be asked for than by the client.
    var isChanged = false
}

extension FindTriggers {
    /// Whether anything is called around finds, of whatever class.
    var hasFindTriggers: Bool {
        guard let triggerSet = services.triggerSet, triggerSet.isActive else { return false }
        return triggerSet.hasFindTriggers
    }

    /// Calls the trigger before a find or a get of a class: the one that is asked about, or the one whose objects are
    /// read.
    ///
    /// - Returns: nil when nothing is called.
    /// - Throws: What the trigger throws.
    func beforeFind(_ find: Find, of className: String) async throws -> TriggeredFind? {
        guard hasFindTrigger(className) else { return nil }
        try backend.triggers.checkMayCallCode()
        guard let before = findTrigger(.beforeFind, className) else {
            return find.triggered ?? TriggeredFind(query: shownParameters(find), objectId: find.objectId)
        }
        let request = try await backend.triggers.withUser(find.context)
        var call = FindCall(
            .beforeFind, className, query: find.triggered?.query ?? shownParameters(find), objectId: find.objectId,
            cloudContext: find.triggered?.cloudContext, request)
        try await before(&call)
        return TriggeredFind(
            query: call.query, objectId: find.objectId, cloudContext: call.context, given: call.objects, isChanged: true
        )
    }

    /// The parameters for triggers: a client's find has a limit even if it names none.
    private func shownParameters(_ find: Find) -> JSONObject {
        guard case .objects = find.kind, find.parameters["limit"] == nil else { return find.parameters }
        var shown = find.parameters
        shown["limit"] = .number(Double(configuration.defaultLimit))
        return shown
    }

    /// Calls the trigger after a find or a get.
    ///
    /// - Returns: What is answered.
    /// - Throws: What the trigger throws.
    func afterFind(_ find: Find, _ objects: [JSONObject], _ triggered: TriggeredFind) async throws -> [JSONObject] {
        guard let after = findTrigger(.afterFind, find.target) else { return objects }
        var call = FindCall(
            .afterFind, find.target, query: triggered.query, objectId: triggered.objectId,
            cloudContext: triggered.cloudContext, try await backend.triggers.withUser(find.context))
        call.objects = objects
        try await after(&call)
        return call.objects ?? objects
    }
}
