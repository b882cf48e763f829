import JSON
import Rules

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
    /// What is asked for, with the parameters of a find: `where` as an object, `limit`, `skip`, `order`, `include`, `keys`,
    /// `count`. Before the find it may be changed.
    public var query: JSONObject
    /// Whether one object is asked for by its id.
    public let isGet: Bool
    /// After the find: what was found, which may be changed. Before it: what is answered without a find; nil for the find.
    public var objects: [JSONObject]?
    /// Who calls.
    public let caller: Caller
    /// The record of the caller's user, with the session token; nil without a user.
    public let user: JSONObject?
    /// The IP address that the request comes from.
    public let address: String
    /// What callers and earlier triggers hand on. Before the find it may be changed.
    public var context: JSONObject
    /// What else is known of the request.
    public let facts: (any RequestFacts)?

    init(
        _ event: FindEvent, _ className: String, query: JSONObject, objectId: String? = nil, user: JSONObject?,
        cloudContext: JSONObject? = nil, _ context: RequestContext
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
        caller = context.caller
        self.user = user
        address = context.address
        self.context = cloudContext ?? context.facts?.cloudContext ?? [:]
        facts = context.facts
    }
}

/// What is called around a find. What it throws refuses the find: a `ParseError` goes to the client as it is.
public typealias FindTrigger = @Sendable (inout FindCall) async throws -> Void

extension Backend {
    /// What is called around finds of a class; nil for nothing.
    func findTrigger(_ event: FindEvent, _ className: String) -> FindTrigger? {
        guard let triggers, triggers.isActive else { return nil }
        return triggers.findTrigger(for: event, of: Name(className))
    }
}
