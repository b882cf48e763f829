import JSON
import Logging
import ParseModel
import ParseStorage
import Rules

/// The calls of triggers and of observers, at their steps in the life of a save and of a deletion.
extension Backend {
    /// Whether anybody could want to know of changes.
    var isObserved: Bool { triggers != nil || observer != nil }

    private func trigger(_ event: TriggerEvent, _ className: String) -> Trigger? {
        triggers?.trigger(for: event, of: Name(className))
    }

    private func observes(_ className: String) -> Bool { observer?.observes(Name(className)) ?? false }

    /// Calls the trigger before a save, and takes over what it changed.
    ///
    /// - Throws: What the trigger throws.
    func beforeSave(_ save: inout Save) async throws {
        let before = trigger(.beforeSave, save.className)
        guard before != nil || trigger(.afterSave, save.className) != nil || observes(save.className) else { return }
        if let objectId = save.objectId { save.original = try await original(save.className, objectId) }
        guard let before else { return }
        let call = TriggerCall(
            event: .beforeSave, className: save.className, object: try save.object(), original: save.original,
            changes: save.body, caller: save.caller, address: save.context.address)
        let changes = try await before(call)
        try configuration.requestKeywordDenylist.check(changes)
        for (key, value) in changes where save.body[key] != value {
            save.body[key] = value
            save.changedByTrigger.append(key)
        }
    }

    /// Tells a trigger and an observer of a save. What a trigger throws is logged.
    func afterSave(_ save: Save, _ result: WriteResult) async {
        let after = trigger(.afterSave, save.className)
        guard after != nil || observes(save.className),
            let objectId = save.objectId ?? result.body["objectId"]?.stringValue, var object = try? save.object()
        else { return }
        for (key, value) in result.body where key != "sessionToken" { object[key] = value }
        if observes(save.className) {
            await observer?.observe(
                Change(
                    className: save.className, objectId: objectId, before: save.original, after: object,
                    origin: save.caller))
        }
        guard let after else { return }
        let call = TriggerCall(
            event: .afterSave, className: save.className, object: object, original: save.original,
            changes: save.body, caller: save.caller, address: save.context.address)
        await logging(call) { _ = try await after(call) }
    }

    /// Calls the trigger before a deletion.
    ///
    /// - Throws: What the trigger throws; 101 when there is no such object.
    func beforeDelete(_ planned: inout DeletePipeline.Planned) async throws {
        let className = planned.className
        let before = trigger(.beforeDelete, className)
        guard before != nil || trigger(.afterDelete, className) != nil || observes(className) else { return }
        guard let original = try await original(className, planned.objectId) else { throw ParseError.notFound }
        planned.original = original
        if let before { _ = try await before(planned.call(.beforeDelete, original)) }
    }

    /// Tells a trigger and an observer of a deletion. What a trigger throws is logged.
    func afterDelete(_ planned: DeletePipeline.Planned) async {
        guard let original = planned.original else { return }
        if observes(planned.className) {
            await observer?.observe(
                Change(
                    className: planned.className, objectId: planned.objectId, before: original, after: nil,
                    origin: planned.context.caller))
        }
        guard let after = trigger(.afterDelete, planned.className) else { return }
        let call = planned.call(.afterDelete, original)
        await logging(call) { _ = try await after(call) }
    }

    /// Calls the trigger before a log-in, or after it.
    ///
    /// - Throws: What the trigger throws.
    func callLoginTrigger(_ event: TriggerEvent, of userId: String, _ context: RequestContext) async throws {
        guard let trigger = trigger(event, "_User"), let user = try await original("_User", userId) else { return }
        _ = try await trigger(TriggerCall(event, "_User", object: user, context))
    }

    /// Prepares the call of the trigger after a log-out, with the session that is to end. What the trigger throws is logged.
    ///
    /// - Returns: The call, for when the session has ended; nil when nothing is called.
    func logoutTrigger(of sessionId: String, _ context: RequestContext) async -> (@Sendable () async -> Void)? {
        guard let trigger = trigger(.afterLogout, "_Session"),
            let session = try? await original("_Session", sessionId)
        else { return nil }
        let call = TriggerCall(.afterLogout, "_Session", object: session, context)
        return { await self.logging(call) { _ = try await trigger(call) } }
    }

    /// An object as it is, all of it.
    private func original(_ className: String, _ objectId: String) async throws -> JSONObject? {
        guard catalog.schema(className) != nil, !objectId.utf8.contains(0) else { return nil }
        var request = ObjectStore.FindRequest(className: className)
        request.filter = .field(FieldPath("objectId"), .equal(.string(objectId)))
        request.limit = 1
        return try await store.find(request).objects.first
    }

    private func logging(_ call: TriggerCall, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            logger.error(
                "a trigger failed",
                metadata: [
                    "trigger": "\(call.event.rawValue)", "class": "\(call.className)", "error": "\(error)",
                ])
        }
    }
}

extension TriggerCall {
    /// A call that is about an object as it is, which nobody changes.
    fileprivate init(_ event: TriggerEvent, _ className: String, object: JSONObject, _ context: RequestContext) {
        self.init(
            event: event, className: className, object: object, original: object, changes: [:],
            caller: context.caller, address: context.address)
    }
}

extension DeletePipeline.Planned {
    fileprivate func call(_ event: TriggerEvent, _ object: JSONObject) -> TriggerCall {
        TriggerCall(event, className, object: object, context)
    }
}

extension Save {
    /// The object as it is to be: the original with what is saved carried out. A password is nobody's business.
    ///
    /// - Throws: The errors of operations that are none.
    fileprivate func object() throws -> JSONObject {
        var object = original ?? [:]
        for (key, value) in body where key != "password" {
            let operation = try FieldOperation(json: value, isCreating: isNew)
            object[key] = operation.applied(to: object[key])
        }
        if let objectId = objectId ?? newId { object["objectId"] = .string(objectId) }
        return object
    }
}
