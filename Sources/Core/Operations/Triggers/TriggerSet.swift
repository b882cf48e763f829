import JSON
import Rules

/// The triggers of cloud code and webhooks.
///
/// Looking up a trigger is synchronous, so classes without triggers cause no extra loading.
public protocol TriggerSet: Sendable {
    /// Whether any trigger exists. If false, the set is not queried further.
    var isActive: Bool { get }

    /// Whether any class has find triggers.
    var hasFindTriggers: Bool { get }

    /// Returns the trigger for an event of a class or of `@Config`, or nil if it has none.
    func trigger(for event: TriggerEvent, of className: Name) -> Trigger?

    /// Returns the find trigger of a class, or nil if it has none.
    func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger?

    /// Returns the file trigger for an event, or nil if none exists.
    func fileTrigger(for event: FileEvent) -> FileTrigger?

    /// Returns the live-query trigger of a class or of `@Connect`, or nil if it has none.
    func liveQueryTrigger(for event: LiveQueryTriggerEvent, of className: Name) -> LiveQueryTrigger?
}

extension TriggerSet {
    public var isActive: Bool { true }
    public var hasFindTriggers: Bool { isActive }
    public func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger? { nil }
    public func fileTrigger(for event: FileEvent) -> FileTrigger? { nil }
    public func liveQueryTrigger(for event: LiveQueryTriggerEvent, of className: Name) -> LiveQueryTrigger? { nil }
}

/// The events of object and account triggers.
public enum TriggerEvent: String, Sendable, CaseIterable {
    /// Before an object is created or updated. Can change (not for `@Config`) or reject the save.
    case beforeSave
    /// After an object was created or updated. Can replace the response. Errors are only logged, but fail the request
    /// for `@Config`. The trigger of `_User` also runs after a log-in with an auth provider.
    case afterSave
    /// Before an object is deleted. Can reject the deletion.
    case beforeDelete
    /// After an object was deleted. From preset 9 on errors are only logged. Up to preset 8 they fail the request.
    case afterDelete
    /// Before a log-in with valid credentials creates a session. Can reject the log-in.
    case beforeLogin
    /// After a user logged in with a password. An error fails the request, but the session remains.
    case afterLogin
    /// After a user logged out. The object is the deleted session. An error fails the request.
    case afterLogout
    /// Before a user is sent a password-reset link. Can reject the request.
    case beforePasswordResetRequest
}

/// A trigger of an object or account event.
///
/// Errors before a save, deletion or log-in reject it, and a `ParseError` is sent to the client unchanged.
public typealias Trigger = @Sendable (TriggerCall) async throws -> TriggerAnswer

/// A trigger's input.
public struct TriggerCall: Sendable {
    public let className: String
    /// The object to be saved, or the saved or deleted object. For account events, the user or the session. For
    /// `beforeSave`, fields that the client sent as operators remain operators.
    public let object: JSONObject
    /// The stored object before a save, as visible to the caller. Nil for new objects, objects too large to decode, and
    /// other events. For a new installation that updates an existing row, only that row's id.
    public let original: JSONObject?
    /// The fields as sent by the client (`beforeSave`) or as written (`afterSave`), or empty without a save request.
    public let changes: JSONObject
    /// The context passed on from callers and earlier triggers.
    public let context: JSONObject
    /// The request, including the user's record.
    public let request: RequestContext

    init(
        _ className: String, _ object: JSONObject, original: JSONObject? = nil,
        changes: JSONObject = [:], cloudContext: JSONObject? = nil, _ request: RequestContext
    ) {
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
    /// For `beforeSave`, the body to save instead of the client's, or nil to keep the client's.
    public var body: JSONObject?
    /// Additional fields for the response. Those that `afterSave` sets aren't stored.
    public var responseFields: JSONObject = [:]
    /// For `afterSave`, the response body, or nil for the usual response.
    public var answer: JSONValue?
    /// The context for later triggers, or nil to pass on this trigger's context.
    public var context: JSONObject?

    public init() {}
}
