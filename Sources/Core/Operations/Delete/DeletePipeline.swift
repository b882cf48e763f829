import JSON
import ParseModel
import ParseStorage
import Rules

/// The life of a deletion: authorize, load the original where a trigger wants it, before-triggers; remove, and report
/// it to observers; caches and after-triggers.
public struct DeletePipeline {
    let backend: Backend

    /// A deletion that needs no more than to be carried out.
    public struct Planned: Sendable {
        let className: String
        let objectId: String
        let context: RequestContext
        let access: ObjectStore.WriteAccess
        var outcome = TriggerOutcome()
        /// What became of the object, where anybody wants to know.
        var change: ObjectStore.ChangedObject?
        /// The name under which the trash keeps the object; nil where it is gone for good.
        var operatorName: String?
        var trashId: String?
        /// What is special to the class; nil for ordinary classes.
        var rules: (any DeleteRules)?
    }

    /// What triggers get of a deletion.
    public struct TriggerOutcome: Sendable {
        /// The object as it was, as far as the caller sees it, where a trigger wants to know.
        var original: JSONObject?
        /// What triggers hand on, where one was called.
        var cloudContext: JSONObject?
    }

    /// Takes a deletion through all steps.
    ///
    /// - Parameters:
    ///   - operatorName: The name under which the trash keeps the object; nil where it is gone for good.
    ///   - condition: What must hold of the object besides.
    /// - Returns: The id under which the trash has it.
    /// - Throws: 101 when there is no such object or the caller may not remove it.
    func run(
        _ className: String, _ objectId: String, _ context: RequestContext, keptFor operatorName: String? = nil,
        condition: Filter = .everything
    ) async throws -> String? {
        var planned = try await plan(className, objectId, context, condition: condition)
        planned.operatorName = operatorName
        let removed = try await store(planned)
        try await finish(removed)
        return removed.trashId
    }

    /// Calls the triggers before a deletion that is to be part of a transaction, before it begins.
    func callTriggers(_ className: String, _ objectId: String, _ context: RequestContext) async throws -> TriggerOutcome
    {
        guard backend.triggers.isObserved else { return TriggerOutcome() }
        return try await plan(className, objectId, context).outcome
    }

    /// Everything that comes before the object is removed.
    ///
    /// - Parameters:
    ///   - outcome: What triggers got, where they were called before.
    ///   - condition: What must hold of the object besides.
    func plan(
        _ className: String, _ objectId: String, _ context: RequestContext, outcome: TriggerOutcome? = nil,
        condition: Filter = .everything
    ) async throws -> Planned {
        let caller = context.caller
        try backend.transactions.checkChange("delete", className, caller)
        guard let schema = backend.catalog.schema(className) else { throw ParseError.notFound }
        var rules = ClassRules.deleting(className, backend)
        if !caller.writesEverything { try await rules?.authorize(objectId, caller) }
        let filter = try schema.permit(.delete, to: caller).and(condition)
        var planned = Planned(
            className: className, objectId: objectId, context: context,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
        try await rules?.look(objectId)
        planned.rules = rules
        if let outcome {
            planned.outcome = outcome
        } else if backend.triggers.isObserved {
            try await backend.deleteTriggers.beforeDelete(&planned)
        }
        return planned
    }

    /// Removes the object, and has observers know of it. The pipeline's backend may be that of a transaction: of what
    /// is removed in one, they know after its commit.
    func store(_ planned: Planned) async throws -> Planned {
        var planned = planned
        if backend.isInTransaction {
            (planned.trashId, planned.change) = try await remove(planned)
        } else {
            planned.trashId = try await backend.services.changes.reporting(
                planned.className, planned.objectId, by: planned.context.caller
            ) {
                try await remove(planned)
            }
        }
        return planned
    }

    private func remove(_ planned: Planned) async throws -> (trashId: String?, ObjectStore.ChangedObject?) {
        let (store, wants) = (backend.store, backend.services.changes.wants(planned.className))
        let notFound = planned.rules?.notFound ?? ParseError.notFound
        if let operatorName = planned.operatorName {
            let kept = try await backend.timed(.delete, planned.className, planned.context) {
                try await store.trash.keep(
                    planned.className, planned.objectId, access: planned.access, for: operatorName, wants: wants)
            }
            guard let kept else { throw notFound }
            return (kept.id, kept.change)
        }
        guard wants.isEmpty else {
            let change = try await backend.timed(.delete, planned.className, planned.context) {
                try await store.delete(
                    planned.className, objectId: planned.objectId, access: planned.access, wants: wants)
            }
            guard let change else { throw notFound }
            return (nil, change)
        }
        let isDeleted = try await backend.timed(.delete, planned.className, planned.context) {
            try await store.delete(planned.className, objectId: planned.objectId, access: planned.access)
        }
        guard isDeleted else { throw notFound }
        return (nil, nil)
    }

    /// Runs the steps after the deletion is committed. Up to preset 8, rethrows errors of the trigger.
    func finish(_ planned: Planned) async throws {
        await planned.rules?.over(backend).finish(planned.objectId)
        if backend.triggers.isObserved { try await backend.deleteTriggers.afterDelete(planned) }
    }
}

/// Deletions of objects.
public struct Deleting: Sendable {
    let backend: Backend

    /// Removes an object.
    ///
    /// - Parameters:
    ///   - date: When the object was changed last, as far as the caller saw; nil for at any time.
    ///   - operatorName: The name under which the trash keeps the object; nil where it is gone for good.
    /// - Returns: The id under which the trash has it.
    /// - Throws: 101 when there is no such object or the caller may not remove it; ``ObjectChanged`` when it was changed
    ///   at another time.
    @discardableResult
    public func delete(
        _ className: String, _ objectId: String, _ context: RequestContext, ifUpdatedAt date: ParseDate? = nil,
        keptFor operatorName: String? = nil
    ) async throws -> String? {
        let pipeline = DeletePipeline(backend: backend)
        guard let date else { return try await pipeline.run(className, objectId, context, keptFor: operatorName) }
        do {
            return try await pipeline.run(
                className, objectId, context, keptFor: operatorName, condition: .changed(at: date))
        } catch {
            throw await backend.finding.conflict(error, className, objectId, date, context)
        }
    }
}
