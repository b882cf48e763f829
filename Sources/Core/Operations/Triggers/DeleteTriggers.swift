import JSON
import ParseModel
import ParseStorage
import Rules

public struct DeleteTriggers: Sendable, BackendPart {
    let backend: Backend

    /// Loads the object and calls the `beforeDelete` trigger, if the class has delete triggers.
    ///
    /// - Throws: Errors of the trigger; 101 if the object doesn't exist or the caller may not delete it.
    func beforeDelete(_ planned: inout DeletePipeline.Planned) async throws {
        let className = planned.className
        let before = backend.triggers.trigger(.beforeDelete, className)
        let hasTrigger = before != nil || backend.triggers.trigger(.afterDelete, className) != nil
        guard hasTrigger else { return }
        planned.outcome.original = try await deletable(planned)
        guard let before, let original = planned.outcome.original else { return }
        let call = planned.call(original, try await backend.triggers.withUser(planned.context))
        if let context = try await before(call).context { planned.outcome.cloudContext = context }
    }

    /// Calls the `afterDelete` trigger. From preset 9 on its errors are only logged. Up to preset 8 they fail the
    /// request, as in parse-server.
    func afterDelete(_ planned: DeletePipeline.Planned) async throws {
        guard let original = planned.outcome.original,
            let after = backend.triggers.trigger(.afterDelete, planned.className)
        else { return }
        @Sendable func call() async throws -> TriggerAnswer {
            try await after(planned.call(original, try await backend.triggers.withUser(planned.context)))
        }
        if configuration.preset >= 9 {
            _ = await backend.triggers.logging(.afterDelete, planned.className) { try await call() }
        } else {
            _ = try await call()
        }
    }

    /// Loads the object to delete, as visible to the caller and after the find triggers of its class.
    private func deletable(_ planned: DeletePipeline.Planned) async throws -> JSONObject {
        let (className, caller) = (planned.className, planned.context.caller)
        guard let schema = catalog.schema(className), !planned.objectId.utf8.contains(0) else {
            throw Sessions.notFoundForDelete
        }
        var access = ReadAccess(filter: planned.access.filter)
        access.writers = caller.writePrincipals
        backend.permissions.protect(schema, planned.objectId, caller, &access)
        let context = planned.context
        var query: JSONObject = [:]
        if let before = backend.findTriggers.findTrigger(.beforeFind, className) {
            // The find triggers get an empty context.
            var call = FindCall(
                query: query, objectId: planned.objectId, cloudContext: [:],
                try await backend.triggers.withUser(context))
            try await before(&call)
            query = call.query
            let options = try FindOptions(find: query)
            if options.condition != ["objectId": .string(planned.objectId)] {
                access.filter = access.filter.and(try backend.finding.filterParser(context).parse(options.condition))
            }
        }
        let original: JSONObject
        do {
            original = try await backend.triggers.object(className, planned.objectId, access, context)
        } catch let error as ParseError where error.code == ParseError.objectNotFound {
            throw Sessions.notFoundForDelete
        }
        let found = try await backend.findTriggers.afterFind(
            className, [original], query: query, objectId: planned.objectId, cloudContext: [:], context)
        guard let first = found.first else { throw Sessions.notFoundForDelete }
        return first
    }
}

extension DeletePipeline.Planned {
    fileprivate func call(_ object: JSONObject, _ request: RequestContext) -> TriggerCall {
        TriggerCall(className, object, cloudContext: outcome.cloudContext, request)
    }
}
