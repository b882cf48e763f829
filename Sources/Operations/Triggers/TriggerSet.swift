import JSON
import Rules

/// What runs before and after objects are saved, deleted and found, and users log in: the seam of cloud code, webhooks and live queries.
///
/// A set says at once whether anything is to be called for a class and an event. Where nothing is, nothing is loaded for it.
public protocol TriggerSet: Sendable {
    /// What is called for an event of a class; nil for nothing.
    func trigger(for event: TriggerEvent, of className: Name) -> Trigger?

    /// What is called around finds and gets of a class; nil for nothing.
    func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger?
}

extension TriggerSet {
    /// Nothing: most sets look at no finds.
    public func findTrigger(for event: FindEvent, of className: Name) -> FindTrigger? { nil }
}

/// When something is called.
public enum TriggerEvent: String, Sendable, CaseIterable {
    /// Before an object is created or changed; may change it, or refuse.
    case beforeSave
    /// After an object was created or changed; changes no answer.
    case afterSave
    /// Before an object is deleted; may refuse.
    case beforeDelete
    /// After an object was deleted.
    case afterDelete
    /// Before a user who brought the right password, or was vouched for by a provider, gets a session; may refuse.
    case beforeLogin
    /// After a user got a session; an error goes to the client, and the session stays.
    case afterLogin
    /// After a session was ended by its user; the object is the session.
    case afterLogout
}

/// What is called: it takes a call and gives what is to be saved besides, as the body of an update has it. Only before a
/// save does that count.
///
/// What it throws before a save, a deletion or a log-in refuses it: a `ParseError` goes to the client as it is.
public typealias Trigger = @Sendable (TriggerCall) async throws -> JSONObject

/// What a trigger is told.
public struct TriggerCall: Sendable {
    /// When it is called.
    public let event: TriggerEvent
    /// The class of the object.
    public let className: String
    /// The object as it is to be, or as it was saved or deleted.
    public let object: JSONObject
    /// The object as it was before; nil for a new one.
    public let original: JSONObject?
    /// What the client sent.
    public let changes: JSONObject
    /// Who calls.
    public let caller: Caller
    /// The IP address that the request comes from.
    public let address: String
}
