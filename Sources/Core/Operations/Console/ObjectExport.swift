public import JSON
import ParseModel
public import ParseStorage
public import Rules

/// Exports all objects that a find matches, however many. Calls no triggers.
public struct ObjectExport: Sendable {
    let backend: Backend

    private func request(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws
        -> ObjectStore.FindRequest
    {
        try context.caller.check("find", of: className)
        guard backend.catalog.schema(className) != nil else { throw ParseError.missingClass(className) }
        var request = try await FindPipeline(backend: backend).request(
            Find(className, .objects, parameters, context))
        (request.limit, request.include, request.place) = (nil, nil, .primary)
        let byId = SortKey(FieldPath("objectId"), isDescending: request.order.first?.isDescending ?? false)
        if !request.order.contains(where: { $0.path == byId.path }) { request.order.append(byId) }
        return request
    }

    /// Counts the objects that an export would contain.
    ///
    /// - Parameter parameters: `where`, `order` and `keys` as in a find.
    /// - Throws: `ParseError` if the query is invalid.
    public func count(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws -> Int {
        var request = try await request(className, parameters, context)
        (request.limit, request.wantsCount) = (0, true)
        return try await backend.store.find(request).count ?? 0
    }

    /// Passes the objects to `use` in pieces of a few megabytes, all from one snapshot.
    ///
    /// - Throws: `ParseError` if the query is invalid, and errors of `use`.
    public func visit(
        _ className: String, _ parameters: JSONObject, _ context: RequestContext,
        _ use: @Sendable (ObjectStore.Found) async throws -> Void
    ) async throws {
        try await backend.store.pieces.visit(try await request(className, parameters, context), use)
    }
}
