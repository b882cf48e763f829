import JSON
import ParseModel
import ParseStorage
import Rules

/// The steps of a deletion: authorize, load the original if a trigger needs it, run before-triggers, delete, notify
/// observers, invalidate caches, run after-triggers.
public struct DeletePipeline {
    let backend: Backend

    /// A deletion that has passed all checks.
    public struct Planned: Sendable {
        let className: String
        let objectId: String
        let context: RequestContext
        let access: ObjectStore.WriteAccess
        var outcome = TriggerOutcome()
        /// The deleted object for observers, set in transactions only, or nil if no observer wants it.
        var change: ObjectStore.ChangedObject?
        /// The operator who moves the object to the trash, or nil to delete it permanently.
        var operatorName: String?
        var trashId: String?
        /// The user of a deleted session, or nil for other classes.
        var sessionOwner: String?
    }

    /// The triggers' input and output.
    public struct TriggerOutcome: Sendable {
        /// The object before the deletion as visible to the caller, or nil if its class has no delete triggers.
        var original: JSONObject?
        /// The context for later triggers, or nil for the request's context.
        var cloudContext: JSONObject?
    }

    /// Runs the checks and before-triggers of a deletion ahead of its transaction, if there are triggers or observers.
    func callTriggers(_ className: String, _ objectId: String, _ context: RequestContext) async throws -> TriggerOutcome
    {
        guard backend.triggers.isObserved else { return TriggerOutcome() }
        return try await plan(className, objectId, context).outcome
    }

    /// Runs all steps before the object is deleted.
    ///
    /// - Parameters:
    ///   - outcome: The triggers' result if they were already called.
    ///   - condition: An additional condition that the object must meet.
    func plan(
        _ className: String, _ objectId: String, _ context: RequestContext, outcome: TriggerOutcome? = nil,
        condition: Filter = .everything
    ) async throws -> Planned {
        let caller = context.caller
        try backend.transactions.checkChange("delete", className, caller)
        guard let schema = backend.catalog.schema(className) else { throw ParseError.notFound }
        if !caller.writesEverything { try await authorize(className, objectId, caller) }
        let filter = try schema.permit(.delete, to: caller).and(condition)
        var planned = Planned(
            className: className, objectId: objectId, context: context,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
        if className == "_Session" { planned.sessionOwner = try await backend.sessions.owner(objectId) }
        if let outcome {
            planned.outcome = outcome
        } else if backend.triggers.isObserved {
            try await backend.deleteTriggers.beforeDelete(&planned)
        }
        return planned
    }

    /// Rejects deletions of users and sessions other than the caller's own.
    private func authorize(_ className: String, _ objectId: String, _ caller: Caller) async throws {
        switch className {
        case "_User":
            guard caller.userId != nil else {
                throw ParseError(ParseError.sessionMissing, "Insufficient auth to delete user")
            }
            guard caller.isUser(objectId) else {
                throw ParseError.denied(ParseError.sessionMissing, "Insufficient auth.")
            }
        case "_Session": try await backend.sessions.checkOwn(objectId, caller)
        default: break
        }
    }

    /// Deletes the object and notifies observers. Within a transaction the notification follows the commit.
    func store(_ planned: Planned) async throws -> Planned {
        var planned = planned
        if backend.isInTransaction {
            (planned.trashId, planned.change) = try await remove(planned)
        } else {
            planned.trashId = try await backend.services.changes.reporting(
                planned.className, planned.objectId
            ) {
                try await remove(planned)
            }
        }
        return planned
    }

    private func remove(_ planned: Planned) async throws -> (trashId: String?, ObjectStore.ChangedObject?) {
        let (store, wants) = (backend.store, backend.services.changes.wants(planned.className))
        let (className, objectId, access) = (planned.className, planned.objectId, planned.access)
        let removed = try await backend.timed(.delete, className, planned.context) {
            () -> (trashId: String?, ObjectStore.ChangedObject?)? in
            if let operatorName = planned.operatorName, TrashRows.retains(className) {
                let kept = try await store.trash.move(
                    className, objectId, access: access, for: operatorName, wants: wants)
                return kept.map { ($0.id, $0.change) }
            }
            guard wants.isEmpty else {
                let change = try await store.delete(className, objectId: objectId, access: access, wants: wants)
                return change.map { (nil, $0) }
            }
            return try await store.delete(className, objectId: objectId, access: access) ? (nil, nil) : nil
        }
        guard let removed else { throw className == "_Session" ? Sessions.notFoundForDelete : ParseError.notFound }
        return removed
    }

    /// Runs the steps after the deletion is committed. Up to preset 8, rethrows errors of the trigger.
    func finish(_ planned: Planned) async throws {
        switch planned.className {
        case "_User": await backend.caches.invalidate(user: planned.objectId)
        case "_Session":
            if let owner = planned.sessionOwner { await backend.caches.invalidate(user: owner) }
        // Deleting a role may change the roles of cached users.
        case "_Role": await backend.caches.invalidateRoles()
        default: break
        }
        if backend.triggers.isObserved { try await backend.deleteTriggers.afterDelete(planned) }
    }
}

public struct Deleting: Sendable {
    let backend: Backend

    /// Deletes an object.
    ///
    /// - Parameters:
    ///   - date: The object's expected `updatedAt`, or nil to skip the check.
    ///   - operatorName: The operator who moves the object to the trash, or nil to delete it permanently.
    /// - Returns: The id of the entry in the trash, or nil without an operator and for sessions.
    /// - Throws: 101 if the object doesn't exist or the caller may not delete it, ``ObjectChanged`` if its `updatedAt`
    ///   differs, and the errors of class-level permissions and triggers.
    @discardableResult
    public func delete(
        _ className: String, _ objectId: String, _ context: RequestContext, ifUpdatedAt date: ParseDate? = nil,
        keptFor operatorName: String? = nil
    ) async throws -> String? {
        let pipeline = DeletePipeline(backend: backend)
        do {
            let condition = date.map { Filter.changed(at: $0) } ?? .everything
            var planned = try await pipeline.plan(className, objectId, context, condition: condition)
            planned.operatorName = operatorName
            let removed = try await pipeline.store(planned)
            try await pipeline.finish(removed)
            return removed.trashId
        } catch {
            guard let date else { throw error }
            throw await backend.finding.conflict(error, className, objectId, date, context)
        }
    }
}
