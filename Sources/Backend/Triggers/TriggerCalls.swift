import JSON
import Logging
import ParseModel
import ParseStorage

/// The calls of triggers, at their steps in the life of a save and of a deletion.
extension TriggerSet {
    /// Calls the trigger before a save, and takes over what it changed.
    ///
    /// - Throws: What the trigger throws.
    func beforeSave(_ save: inout Save, _ backend: Backend) async throws {
        let className = Name(save.className)
        let before = trigger(for: .beforeSave, of: className)
        let after = trigger(for: .afterSave, of: className)
        guard before != nil || after != nil else { return }
        if let objectId = save.objectId {
            save.original = try await backend.original(save.className, objectId)
        }
        guard let before else { return }
        let changes = try await before(
            TriggerCall(
                event: .beforeSave, className: save.className, object: try save.object(), original: save.original,
                changes: save.body, caller: save.caller, address: save.context.address))
        for (key, value) in changes where save.body[key] != value {
            save.body[key] = value
            save.changedByTrigger.append(key)
        }
        // A trigger is the server's own code, but what it makes must be an object all the same.
        try backend.checkKeywords(changes)
    }

    /// Calls the trigger after a save. What it throws is logged.
    func afterSave(_ save: Save, _ result: WriteResult, _ backend: Backend) async {
        guard let after = trigger(for: .afterSave, of: Name(save.className)) else { return }
        await backend.logging("afterSave", save.className) {
            var object = try save.object()
            for (key, value) in result.body { object[key] = value }
            _ = try await after(
                TriggerCall(
                    event: .afterSave, className: save.className, object: object, original: save.original,
                    changes: save.body, caller: save.caller, address: save.context.address))
        }
    }

    /// Calls the trigger before a deletion.
    ///
    /// - Throws: What the trigger throws; 101 when there is no such object.
    func beforeDelete(_ planned: inout DeletePipeline.Planned, _ backend: Backend) async throws {
        let className = Name(planned.className)
        let before = trigger(for: .beforeDelete, of: className)
        guard before != nil || trigger(for: .afterDelete, of: className) != nil else { return }
        guard let original = try await backend.original(planned.className, planned.objectId) else {
            throw ParseError.notFound
        }
        planned.original = original
        guard let before else { return }
        _ = try await before(planned.call(.beforeDelete, original))
    }

    /// Calls the trigger after a deletion. What it throws is logged.
    func afterDelete(_ planned: DeletePipeline.Planned, _ backend: Backend) async {
        guard let after = trigger(for: .afterDelete, of: Name(planned.className)), let original = planned.original
        else {
            return
        }
        await backend.logging("afterDelete", planned.className) {
            _ = try await after(planned.call(.afterDelete, original))
        }
    }
}

extension DeletePipeline.Planned {
    fileprivate func call(_ event: TriggerEvent, _ object: JSONObject) -> TriggerCall {
        TriggerCall(
            event: event, className: className, object: object, original: object, changes: [:],
            caller: context.caller, address: context.address)
    }
}

extension Save {
    /// The object as it is to be: the original with what is saved carried out.
    ///
    /// - Throws: The errors of operations that are none.
    fileprivate func object() throws -> JSONObject {
        var object = original ?? [:]
        for (key, value) in body {
            let operation = try FieldOperation(json: value, isCreating: isNew)
            object[key] = operation.applied(to: object[key])
        }
        if let objectId = objectId ?? newId { object["objectId"] = .string(objectId) }
        return object
    }
}

extension Backend {
    /// An object as it is, all of it.
    fileprivate func original(_ className: String, _ objectId: String) async throws -> JSONObject? {
        guard catalog.schema(className) != nil, !objectId.utf8.contains(0) else { return nil }
        var request = ObjectStore.FindRequest(className: className)
        request.filter = .field(FieldPath("objectId"), .equal(.string(objectId)))
        request.limit = 1
        return try await store.find(request).objects.first
    }

    fileprivate func logging(_ event: String, _ className: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            logger.error(
                "a trigger failed", metadata: ["trigger": "\(event)", "class": "\(className)", "error": "\(error)"])
        }
    }
}
