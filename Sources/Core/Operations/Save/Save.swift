import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// A save on its way through ``SavePipeline``.
struct Save: Sendable {
    let className: String
    /// The id of the object to update, or nil for a new object.
    let objectId: String?
    /// The fields as sent by the client and then changed by triggers and rules.
    var body: JSONObject
    var context: RequestContext

    /// Values of internal columns.
    var hidden: OrderedDictionary<Name, JSONValue> = [:]
    /// An ACL that overrides the body's.
    var acl: ACL?
    /// The predetermined id of a new object.
    var newId: String?
    /// Whether the save is part of a transaction, so nothing may be stored before it begins.
    var isPartOfTransaction = false
    /// Whether a client chose some of the values that the server writes. The object size limit then applies.
    var isOfClient = false
    /// Whether an earlier call of the same transaction creates the object.
    var isMadeInTransaction = false
    /// The object before the save as visible to the caller, or only its id if ``sameId`` is set. Nil for other new
    /// objects, for those created in the same transaction, without save triggers, or if it is too large to decode.
    var original: JSONObject?
    /// The id of an existing installation that a save of a new installation will update, for triggers.
    var sameId: String?
    /// The `authData` as sent by the client, or nil if it sent none or no trigger needs it.
    var sentLoginData: JSONValue?
    /// The context for later triggers, or nil for the request's context.
    var cloudContext: JSONObject?
    /// An additional condition that the object must meet, such as an unused token.
    var condition = Filter.everything
    /// Fields changed by a trigger, which the response includes.
    var responseFields: JSONObject = [:]

    init(_ className: String, _ objectId: String?, _ body: JSONObject, _ context: RequestContext) {
        self.className = className
        self.objectId = objectId
        self.body = body
        self.context = context
    }

    var isNew: Bool { objectId == nil }

    var caller: Caller { context.caller }
}

/// A write that has passed all checks, with the response to send once it is stored.
struct PlannedWrite: Sendable {
    let className: String
    let objectId: String
    var write: ObjectWrite
    /// The rights needed to change the object, or nil for a new object.
    var access: ObjectStore.WriteAccess?
    /// The keys whose stored values the response includes.
    var echoed: [Name] = []
    var result: WriteResult
}

/// A save that is ready to be stored. If ``write`` is nil, some checks run while storing.
public struct PlannedSave: Sendable {
    var save: Save
    var rules: (any SaveRules)?
    /// The write, or nil if the rules of the class determine it while storing, under a lock.
    var write: PlannedWrite?
}

public struct StoredSave: Sendable {
    var planned: PlannedSave
    var result: WriteResult
    /// The changed object to report after the commit, or nil if it was already reported or no observer wants it.
    var change: ObjectStore.ChangedObject?
}
