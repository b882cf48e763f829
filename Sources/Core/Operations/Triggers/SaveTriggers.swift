import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

public struct SaveTriggers: Sendable, BackendPart {
    let backend: Backend

    /// Calls the `beforeSave` trigger and applies its changes to the save. The trigger isn't called if the caller may
    /// not save the object.
    ///
    /// - Throws: Errors of the trigger; 101 or 119 if the caller may not save the object.
    func beforeSave(_ save: inout Save) async throws {
        let before = backend.triggers.trigger(.beforeSave, save.className)
        guard before != nil || backend.triggers.trigger(.afterSave, save.className) != nil else { return }
        if let objectId = save.objectId, !save.isMadeInTransaction {
            // Without a `beforeSave` trigger, the update statement itself returns the original.
            if before != nil { save.original = try await changeable(save.className, objectId, save) }
        } else if save.isNew, let schema = catalog.schema(save.className) {
            _ = try schema.permit(.create, to: save.caller)
            if save.newId == nil { _ = try backend.saving.newObjectId(save.body, save.className) }
            if save.className == "_Installation", let id = try await backend.installations.same(save) {
                save.sameId = id
                // As in parse-server, triggers get only the id of the row that a new installation updates.
                save.original = ["objectId": .string(id)]
            }
        }
        save.sentLoginData = save.body["authData"]
        guard let before else { return }
        // The trigger gets the values to be stored, so `AddUnique` lists have no duplicates.
        for (key, value) in save.body where value["__op"] == "AddUnique" {
            save.body[key] = Save.withoutRepetitions(value)
        }
        save.cloudContext = save.cloudContext ?? save.context.facts?.cloudContext
        let request = try await backend.triggers.withUser(save.context)
        let call = TriggerCall(
            save.className, try save.objectBefore(), original: save.original, changes: save.body,
            cloudContext: save.cloudContext, request)
        let answer = try await before(call)
        if let context = answer.context { save.cloudContext = context }
        save.responseFields = answer.responseFields
        // If a dotted key changes part of an object, the response includes the whole object.
        for (key, value) in save.body where value["__op"] == nil && !FieldPath(key).steps.isEmpty {
            let root = FieldPath(key).root
            if let whole = call.object[root] { save.responseFields[root] = whole }
        }
        guard let body = answer.body else { return }
        try configuration.requestKeywordDenylist.check(body)
        try FileURLRules.check(.object(body), allowed: configuration.fileUpload.allowedFileUrlDomains)
        for (key, value) in body where save.body[key] != value { save.responseFields[key] = value }
        save.body = body
    }

    /// Adds the fields changed by the `beforeSave` trigger to the response. Of operations, only deletions are included.
    func addFieldsOfBeforeSave(_ save: Save, _ result: inout WriteResult) {
        for (key, value) in save.responseFields where result.body[key] == nil && !value.isNull && key != "password" {
            if let operation = value["__op"] {
                guard operation == "Delete", save.context.facts?.takesDeletions ?? true else { continue }
            }
            result.body[key] = value
        }
    }

    /// Adds members that parse-server sends only if the class has an `afterSave` trigger: a user's name, and a new
    /// object's relations.
    func addTriggeredFields(_ save: Save, _ result: inout WriteResult) {
        guard backend.triggers.trigger(.afterSave, save.className) != nil else { return }
        if save.className == "_User", result.body["username"] == nil {
            result.body["username"] =
                save.body["username"].flatMap { $0["__op"] == nil ? $0 : nil } ?? save.original?["username"]
        }
        guard save.isNew else { return }
        for (key, value) in save.body where value["__op"] != nil && result.body[key] == nil {
            result.body[key] = Save.relation(of: value)
        }
    }

    /// Calls the `afterSave` trigger and logs its errors.
    ///
    /// - Returns: The trigger's result, or nil if it failed or doesn't exist.
    func afterSave(_ save: Save, _ result: WriteResult) async -> TriggerAnswer? {
        guard let after = backend.triggers.trigger(.afterSave, save.className),
            (save.objectId ?? result.body["objectId"]?.stringValue ?? save.sameId) != nil,
            let object = try? save.objectAfter(result.body)
        else { return nil }
        return await backend.triggers.logging(.afterSave, save.className) {
            try await after(
                TriggerCall(
                    save.className, object, original: save.original, changes: save.body,
                    cloudContext: save.cloudContext, try await backend.triggers.withUser(save.context)))
        }
    }

    /// Adds fields that the `afterSave` trigger set to values neither written nor stored before. As in parse-server,
    /// pointers are omitted.
    func addFieldsOfAfterSave(_ save: Save, _ responseFields: JSONObject, _ result: inout WriteResult) {
        for (key, value) in responseFields where !value.isNull && value["__type"] != "Pointer" {
            guard !Self.ofServer.contains(key), save.body[key] != value, save.original?[key] != value else { continue }
            result.body[key] = value
        }
    }

    private static let ofServer: Set<Name> = [
        "objectId", "createdAt", "updatedAt", "className", "sessionToken", "password", "__type",
    ]

    /// As in parse-server, calls `_User`'s `afterSave` trigger for a log-in with an auth provider. Logs its errors.
    ///
    /// - Returns: Whether the trigger exists. In that case the response omits `authData`, as in parse-server.
    func notifyOfProviderLogin(_ userId: String, _ user: JSONObject, _ context: RequestContext) async -> Bool {
        guard let after = backend.triggers.trigger(.afterSave, "_User") else { return false }
        _ = await backend.triggers.logging(.afterSave, "_User") { () -> TriggerAnswer? in
            var object = try await backend.triggers.original("_User", userId) ?? user
            object["sessionToken"] = user["sessionToken"]
            return try await after(TriggerCall("_User", object, context))
        }
        return true
    }

    private func changeable(_ className: String, _ objectId: String, _ save: Save) async throws -> JSONObject {
        guard let schema = catalog.schema(className), !objectId.utf8.contains(0) else { throw ParseError.notFound }
        let caller = save.caller
        var access = ReadAccess(filter: try schema.permit(.update, to: caller).and(save.condition))
        access.writers = caller.writePrincipals
        backend.permissions.protect(schema, objectId, caller, &access)
        return try await backend.triggers.object(className, objectId, access, save.context)
    }

    /// Returns the object before the update as visible to the caller, or nil if no trigger needs it or it is too large
    /// to decode.
    func formerObject(_ change: ObjectStore.ChangedObject, _ save: Save) async -> JSONObject? {
        guard backend.triggers.trigger(.afterSave, save.className) != nil,
            let schema = catalog.schema(save.className)
        else { return nil }
        var access = ReadAccess()
        backend.permissions.protect(schema, change.objectId, save.caller, &access)
        return try? await change.former(access, backend.links(save.context))
    }

    /// Returns the parts of a write's result that triggers and observers need.
    func changeWants(_ className: String) -> ObjectStore.ChangeWants {
        guard backend.triggers.isObserved else { return [] }
        let wants = services.changes.wants(className)
        return backend.triggers.trigger(.afterSave, className) == nil ? wants : wants.union(.former)
    }
}
