import JSON
import Logging
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The calls of triggers and of observers in the life of a save.
public struct SaveTriggers: Sendable {
    let backend: Backend
    var configuration: Configuration { backend.configuration }
    var logger: Logger { backend.logger }
    var observers: [any ChangeObserver] { backend.observers }
    var loginDataView: (@Sendable (JSONObject) -> JSONObject)? { backend.loginDataView }
    var changeTurns: ChangeTurns { backend.changeTurns }
    var protectedFields: ProtectedFields { backend.protectedFields }
    var catalog: SchemaCatalog { backend.catalog }
    var changeLinks: FileLinks { backend.changeLinks }
    var triggers: Triggers { backend.triggers }
    var saving: Saving { backend.saving }
    var installations: Installations { backend.installations }

    /// Calls the trigger before a save, and takes over what it changed. Nobody is called for a caller who may not save.
    ///
    /// - Throws: What the trigger throws; 101 or 119 when the caller may not save this.
    func beforeSave(_ save: inout Save) async throws {
        let before = triggers.trigger(.beforeSave, save.className)
        let hasTrigger = before != nil || triggers.trigger(.afterSave, save.className) != nil
        let isObserved = triggers.observes(save.className)
        guard hasTrigger || isObserved else { return }
        if let objectId = save.objectId, !save.isMadeInTransaction {
            if hasTrigger { save.seen = try await changeable(save.className, objectId, save) }
            if isObserved { save.original = try await triggers.original(save.className, objectId, changeLinks) }
        } else if save.isNew, let schema = catalog.schema(save.className) {
            if hasTrigger {
                _ = try schema.permit(.create, to: save.caller)
                if save.newId == nil { _ = try saving.newObjectId(save.body, save.className) }
            }
            if save.className == "_Installation", let id = try await installations.same(save) {
                save.sameId = id
                // Of a row that a new one is the same as, triggerSet are told its id, as with parse-server.
                if hasTrigger { save.seen = ["objectId": .string(id)] }
                if isObserved { save.original = try await triggers.original(save.className, id, changeLinks) }
            }
        }
        if hasTrigger { save.sentLoginData = save.body["authData"] }
        guard let before else { return }
        // The trigger is told what will be stored: no list that is added to has repetitions.
        for (key, value) in save.body where value["__op"] == "AddUnique" {
            save.body[key] = Save.withoutRepetitions(value)
        }
        save.cloudContext = save.cloudContext ?? save.context.facts?.cloudContext
        let call = TriggerCall(
            event: .beforeSave, className: save.className, object: try save.objectBefore(), original: save.seen,
            changes: save.body, caller: save.caller, user: try await triggers.userRecord(save.context),
            address: save.context.address, context: save.cloudContext ?? [:], facts: save.context.facts)
        let answer = try await before(call)
        if let context = answer.context { save.cloudContext = context }
        save.told = answer.told
        // Of an object that is changed in its midst, all is told where there is a trigger.
        for (key, value) in save.body where value["__op"] == nil && !FieldPath(key).steps.isEmpty {
            let root = FieldPath(key).root
            if let whole = call.object[root] { save.told[root] = whole }
        }
        guard let body = answer.body else { return }
        try configuration.requestKeywordDenylist.check(body)
        try FileURLRules.check(.object(body), allowed: configuration.fileUpload.allowedFileUrlDomains)
        for (key, value) in body where save.body[key] != value { save.told[key] = value }
        save.body = body
    }

    /// Adds what a trigger before the save changed to the answer. Operations are no values: of them callers are told at most
    /// that a field is gone.
    func tellChanges(_ save: Save, _ result: inout WriteResult) {
        for (key, value) in save.told where result.body[key] == nil && !value.isNull && key != "password" {
            if let operation = value["__op"] {
                guard operation == "Delete", save.context.facts?.takesDeletions ?? true else { continue }
            }
            result.body[key] = value
        }
    }

    /// Adds what servers tell only where there is a trigger after saves: the name of a user, the relations of a new object.
    func tellTriggered(_ save: Save, _ result: inout WriteResult) {
        guard triggers.trigger(.afterSave, save.className) != nil else { return }
        if save.className == "_User", result.body["username"] == nil {
            result.body["username"] =
                save.body["username"].flatMap { $0["__op"] == nil ? $0 : nil } ?? save.seen?["username"]
        }
        guard save.isNew else { return }
        for (key, value) in save.body where value["__op"] != nil && result.body[key] == nil {
            result.body[key] = Save.relation(of: value)
        }
    }

    /// Tells a trigger and an observer of a save. What a trigger throws is logged.
    ///
    /// - Returns: What the trigger gave; nil where there is none, or it failed.
    func afterSave(_ save: Save, _ result: WriteResult) async -> TriggerAnswer? {
        let after = triggers.trigger(.afterSave, save.className)
        guard after != nil || triggers.observes(save.className),
            let objectId = save.objectId ?? result.body["objectId"]?.stringValue ?? save.sameId
        else { return nil }
        await tellObservers(save, objectId)
        guard let after, let object = try? save.objectAfter(save.seen, result.body, tellsSession: true) else {
            return nil
        }
        return await triggers.logging(.afterSave, save.className) {
            let call = TriggerCall(
                event: .afterSave, className: save.className, object: object, original: save.seen,
                changes: save.body, caller: save.caller, user: try await triggers.userRecord(save.context),
                address: save.context.address, context: save.cloudContext ?? save.context.facts?.cloudContext ?? [:],
                facts: save.context.facts)
            return try await after(call)
        }
    }

    /// Tells those who want to know what became of an object by a save.
    ///
    /// It is read, since others may have changed it meanwhile: who follows changes ends with what is stored. Of one that is
    /// gone, its deletion tells; of one that was made in the same transaction, its making.
    func tellObservers(_ save: Save, _ objectId: String) async {
        guard triggers.observes(save.className), !save.isMadeInTransaction else { return }
        await changeTurns.take(save.className, objectId) {
            do {
                guard let now = try await triggers.original(save.className, objectId, changeLinks) else { return }
                await triggers.notify(
                    Change(
                        className: save.className, objectId: objectId, before: save.original, after: now,
                        origin: save.caller))
            } catch {
                logger.error(
                    "a change is not told: the object could not be read",
                    metadata: ["class": "\(save.className)", "error": "\(error)"])
                for observer in observers where observer.observes(Name(save.className)) {
                    await observer.missChange(of: Name(save.className))
                }
            }
        }
    }

    /// Adds what a trigger after the save set on the object to the answer: what is neither what was written nor what was
    /// stored before. Pointers are not told, as with parse-server.
    func tellAfterwards(_ save: Save, _ told: JSONObject, _ result: inout WriteResult) {
        for (key, value) in told where !value.isNull && value["__type"] != "Pointer" {
            guard !Self.isOfServer(key), save.body[key] != value, save.seen?[key] != value else { continue }
            result.body[key] = value
        }
    }

    /// Whether no code sets a field.
    private static func isOfServer(_ key: Name) -> Bool {
        switch key {
        case "objectId", "createdAt", "updatedAt", "className", "sessionToken", "password", "__type": true
        default: false
        }
    }

    /// Tells the trigger after saves of users of a log-in by a provider, as parse-server does. What it throws is logged.
    ///
    /// - Returns: Whether there is one: then the answer tells no login data, as there.
    func tellOfProviderLogin(_ userId: String, _ user: JSONObject, _ context: RequestContext) async -> Bool {
        guard let after = triggers.trigger(.afterSave, "_User") else { return false }
        _ = await triggers.logging(.afterSave, "_User") { () -> TriggerAnswer? in
            var object = try await triggers.original("_User", userId) ?? user
            object["sessionToken"] = user["sessionToken"]
            return try await after(
                TriggerCall(
                    event: .afterSave, className: "_User", object: object, original: nil, changes: [:],
                    caller: context.caller, user: nil, address: context.address,
                    context: context.facts?.cloudContext ?? [:], facts: context.facts))
        }
        return true
    }

    /// The object that is to be changed, as far as the caller sees it.
    ///
    /// - Throws: 119 or 101 when the caller may not change it, 101 when it is not there.
    private func changeable(_ className: String, _ objectId: String, _ save: Save) async throws -> JSONObject {
        guard let schema = catalog.schema(className), !objectId.utf8.contains(0) else { throw ParseError.notFound }
        let caller = save.caller
        var access = ReadAccess(filter: try schema.permit(.update, to: caller).and(save.condition))
        access.writers = caller.writePrincipals
        if !caller.readsEverything {
            access.loginData = loginDataView
            protectedFields.protect(
                schema, caller, isOwnUser: caller.isOwn(className, objectId), &access)
        }
        return try await triggers.object(className, objectId, access, save.context)
    }
}
