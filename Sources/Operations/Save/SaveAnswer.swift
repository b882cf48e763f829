import JSON
import ParseModel
import ParseStorage
import Rules

/// What the answer to a save has.
extension Saving {
    /// Members of an answer that are no fields of the object, or never protected.
    private static let alwaysShown: Set<Name> = [
        "objectId", "createdAt", "updatedAt", "sessionToken", "authDataResponse",
    ]

    /// The answer to a save without the fields that are protected from the caller, where the deployment wants that.
    ///
    /// - Parameter objectId: The id of the object; nil for a new one, whose id the answer carries.
    func shown(
        _ result: WriteResult, _ className: String, _ objectId: String?, _ context: RequestContext
    ) async throws -> WriteResult {
        let caller = context.caller
        guard !configuration.protectedFieldsSaveResponseExempt, !caller.readsEverything,
            let schema = catalog.schema(className), let id = objectId ?? result.body["objectId"]?.stringValue
        else { return result }
        var access = ReadAccess()
        protectedFields.protect(schema, caller, isOwnUser: caller.isOwn(className, id), &access)
        let doubtful = access.hidden.intersection(result.body.keys).subtracting(Self.alwaysShown)
        guard !doubtful.isEmpty else { return result }
        // A field of the object itself can decide who sees what, so the object is asked.
        var request = ObjectStore.FindRequest(className: className)
        request.filter = .field(FieldPath("objectId"), .equal(.string(id)))
        request.limit = 1
        request.access = access
        let visible = try await store.find(request).objects.first ?? [:]
        var shown = result
        for name in doubtful where visible[name] == nil { shown.body[name] = nil }
        return shown
    }
}
