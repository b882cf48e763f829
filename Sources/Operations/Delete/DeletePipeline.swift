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
        /// What triggers get.
        var told = Told()
        /// What became of the object, where anybody wants to know.
        var change: ObjectStore.ChangedObject?
        /// What is special to the class; nil for ordinary classes.
        var rules: (any DeleteRules)?
    }

    /// What triggers get of a deletion.
    public struct Told: Sendable {
        /// The object as it was, as far as the caller sees it, where a trigger wants to know.
        var seen: JSONObject?
        /// What triggers hand on, where one was called.
        var cloudContext: JSONObject?
    }

    /// Takes a deletion through all steps.
    ///
    /// - Throws: 101 when there is no such object or the caller may not remove it.
    func run(_ className: String, _ objectId: String, _ context: RequestContext) async throws {
        let planned = try await plan(className, objectId, context)
        try await finish(try await store(planned))
    }

    /// Calls the triggers before a deletion that is to be part of a transaction, before it begins.
    func callTriggers(_ className: String, _ objectId: String, _ context: RequestContext) async throws -> Told {
        guard backend.triggers.isObserved else { return Told() }
        return try await plan(className, objectId, context).told
    }

    /// Everything that comes before the object is removed.
    ///
    /// - Parameter told: What triggers got, where they were called before.
    func plan(_ className: String, _ objectId: String, _ context: RequestContext, told: Told? = nil) async throws
        -> Planned
    {
        let caller = context.caller
        try backend.transactions.checkChange("delete", className, caller)
        guard let schema = backend.catalog.schema(className) else { throw ParseError.notFound }
        var rules = ClassRules.deleting(className, backend)
        if !caller.writesEverything { try await rules?.authorize(objectId, caller) }
        let filter = try schema.permit(.delete, to: caller)
        var planned = Planned(
            className: className, objectId: objectId, context: context,
            access: ObjectStore.WriteAccess(writers: caller.writePrincipals, filter: filter))
        try await rules?.look(objectId)
        planned.rules = rules
        if let told {
            planned.told = told
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
            planned.change = try await remove(planned)
        } else {
            try await backend.changes.reporting(planned.className, planned.objectId, by: planned.context.caller) {
                ((), try await remove(planned))
            }
        }
        return planned
    }

    private func remove(_ planned: Planned) async throws -> ObjectStore.ChangedObject? {
        let (store, wants) = (backend.store, backend.changes.wants(planned.className))
        let notFound = planned.rules?.notFound ?? ParseError.notFound
        guard wants.isEmpty else {
            let change = try await backend.timed(.delete, planned.className, planned.context) {
                try await store.delete(
                    planned.className, objectId: planned.objectId, access: planned.access, wants: wants)
            }
            guard let change else { throw notFound }
            return change
        }
        let isDeleted = try await backend.timed(.delete, planned.className, planned.context) {
            try await store.delete(planned.className, objectId: planned.objectId, access: planned.access)
        }
        guard isDeleted else { throw notFound }
        return nil
    }

    /// What follows when others can see that the object is gone.
    ///
    /// - Throws: What the trigger after the deletion throws.
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
    /// - Throws: 101 when there is no such object or the caller may not remove it.
    public func delete(_ className: String, _ objectId: String, _ context: RequestContext) async throws {
        try await DeletePipeline(backend: backend).run(className, objectId, context)
    }
}
