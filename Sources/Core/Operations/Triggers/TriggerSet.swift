import JSON
import Rules

/// What runs before and after objects are saved, deleted and found, files are kept, and users log in: the seam of cloud
/// code and webhooks.
///
/// A set says at once whether anything is to be called for a class and an event. Where nothing is, nothing is loaded
/// for it.
public protocol TriggerSet: Sendable {
    /// Whether there is anything at all to be called. Where there is not, nothing is asked.
    var isActive: Bool { get }

    /// Whether anything is called around finds, of whatever class.
    var hasFindTriggers: Bool { get }

    /// What is called for an event of a class, or of `@Config`; nil for nothing.
    func trigger(for event: TriggerEvent, of className: Name) -> Trigger?

    /// What is called around finds and gets of a class; nil for nothing.
    func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger?

    /// What is called around the life of a file; nil for nothing.
    func fileTrigger(for event: FileEvent) -> FileTrigger?

    /// What is called in the life of live queries of a class, or for `@Connect`; nil for nothing.
    func liveQueryTrigger(for event: LiveQueryTriggerEvent, of className: Name) -> LiveQueryTrigger?
}

extension TriggerSet {
    public var isActive: Bool { true }
    public var hasFindTriggers: Bool { isActive }

    /// Nothing: most sets look at no finds.
    public func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger? { nil }

    /// Nothing: most sets look at no files.
    public func fileTrigger(for event: FileEvent) -> FileTrigger? { nil }

    /// Nothing: most sets look at no live queries.
    public func liveQueryTrigger(for event: LiveQueryTriggerEvent, of className: Name) -> LiveQueryTrigger? { nil }
}

/// When something is called.
public enum TriggerEvent: String, Sendable, CaseIterable {
    /// Before an object is created or changed; may change it, or refuse.
    case beforeSave
    /// After an object was created or changed; may replace the answer, and an error changes nothing.
    case afterSave
    /// Before an object is deleted; may refuse.
    case beforeDelete
    /// After an object was deleted; an error goes to the client, and the object is gone.
    case afterDelete
    /// Before a user who brought the right password, or was vouched for by a provider, gets a session; may refuse.
    case beforeLogin
    /// After a user got a session; an error goes to the client, and the session stays.
    case afterLogin
    /// After a session was ended by its user; the object is the session. An error goes to the client.
    case afterLogout
    /// Before a user is sent a link that lets choose a new password; may refuse.
    case beforePasswordResetRequest
}

/// What is called.
///
/// What it throws before a save, a deletion or a log-in refuses it: a `ParseError` goes to the client as it is.
public typealias Trigger = @Sendable (TriggerCall) async throws -> TriggerAnswer

/// A trigger's input.
public struct TriggerCall: Sendable {
    /// When it is called.
    public let event: TriggerEvent
    /// The class of the object.
    public let className: String
    /// The object as it is to be, or as it was saved or deleted. Before a save, fields that the client sent as
    /// operators are operators.
    public let object: JSONObject
    /// The object as it was before, as far as the caller sees it; nil for a new one.
    public let original: JSONObject?
    /// What the client sent.
    public let changes: JSONObject
    /// What callers and earlier triggers hand on.
    public let context: JSONObject
    /// The request, with the record of its user.
    public let request: RequestContext
    /// Who calls.
    public var caller: Caller { request.caller }

    /// A call in a request; one without changes is about an object as it is.
    init(
        _ event: TriggerEvent, _ className: String, _ object: JSONObject, original: JSONObject? = nil,
        changes: JSONObject = [:], cloudContext: JSONObject? = nil, _ request: RequestContext
    ) {
        self.event = event
        self.className = className
        self.object = object
        self.original = original
        self.changes = changes
        self.request = request
        context = cloudContext ?? request.facts?.cloudContext ?? [:]
    }
}

/// A trigger's result.
public struct TriggerAnswer: Sendable {
    /// Before a save: what is saved instead of what the client sent, as the body of a request has it; nil for what it
    /// sent.
    public var body: JSONObject?
    /// Fields that are answered besides those that changed. After a save they are not stored.
    public var responseFields: JSONObject = [:]
    /// After a save: what the client is answered instead; nil for the usual answer.
    public var answer: JSONValue?
    /// What is handed on to the triggers that follow; nil for what was handed to this one.
    public var context: JSONObject?

    /// Nothing changes.
    public init() {}

    /// Saves something else than what the client sent.
    public init(body: JSONObject) { self.body = body }
}
