import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules

/// One object on its way from what a client sent to what is stored; ``SavePipeline`` takes it through the steps.
struct Save: Sendable {
    let className: String
    /// The id of the object that is changed; nil for a new one.
    let objectId: String?
    /// What is to be saved: what the client sent, and what triggers and rules made of it.
    var body: JSONObject
    var context: RequestContext

    /// Values of columns that no schema lists.
    var hidden: OrderedDictionary<Name, JSONValue> = [:]
    /// The ACL where it is not the body's.
    var acl: ACL?
    /// The id of a new object, where it is decided already.
    var newId: String?
    /// Whether it is to be part of a transaction, before which nothing is stored.
    var isPartOfTransaction = false
    /// Whether a client chose values of it, though the server writes it: it may have no more than what clients write.
    var isOfClient = false
    /// Whether a call before it in the same transaction makes the object that is changed.
    var isMadeInTransaction = false
    /// The object as it was, as far as the caller sees it, where a trigger wants to know.
    var original: JSONObject?
    /// The object that a new installation is the same as, as far as triggers get it.
    var sameId: String?
    /// The login data that the client sent, where a trigger wants to know.
    var sentLoginData: JSONValue?
    /// What triggers hand on, where one was called.
    var cloudContext: JSONObject?
    /// What must hold of the object besides, as that it has a token which is spent by the save.
    var condition = Filter.everything
    /// What a trigger changed, by field: part of the answer.
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

/// What is to be written of an object that passed every rule, and the answer that says so once it is stored.
struct PlannedWrite: Sendable {
    let className: String
    let objectId: String
    var write: ObjectWrite
    /// Who may change the object; nil for a new one.
    var access: ObjectStore.WriteAccess?
    /// The keys whose values the answer has as they are afterwards.
    var echoed: [Name] = []
    var result: WriteResult
}

/// A save that needs no more than to be stored.
public struct PlannedSave: Sendable {
    var save: Save
    var rules: (any SaveRules)?
    /// What is to be written; nil where the rules of the class find that out when others are locked out.
    var write: PlannedWrite?
}

/// A stored save.
public struct StoredSave: Sendable {
    var planned: PlannedSave
    var result: WriteResult
    /// What became of the object, where anybody wants to know.
    var change: ObjectStore.ChangedObject?
}
