public import JSON
import ParseModel
public import ParseStorage
public import Rules

/// The objects of a find, however many they are, as they are stored: no trigger is called.
public struct ObjectExport: Sendable {
    let backend: Backend

    private func request(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws
        -> ObjectStore.FindRequest
    {
        try context.caller.check("find", of: className)
        guard backend.catalog.schema(className) != nil else {
            throw ParseError(ParseError.invalidClassName, "Class \(className) does not exist.")
        }
        var request = try await FindPipeline(backend: backend).request(
            Find(className, .objects, parameters, context))
        (request.limit, request.include, request.place) = (nil, nil, .primary)
        let byId = SortKey(FieldPath("objectId"), isDescending: request.order.first?.isDescending ?? false)
        if !request.order.contains(where: { $0.path == byId.path }) { request.order.append(byId) }
        return request
    }

    /// How many objects there are.
    ///
    /// - Parameter parameters: `where`, `order` and `keys` as in a find.
    /// - Throws: Parse's errors for the query.
    public func count(_ className: String, _ parameters: JSONObject, _ context: RequestContext) async throws -> Int {
        var request = try await request(className, parameters, context)
        (request.limit, request.wantsCount) = (0, true)
        return try await backend.store.find(request).count ?? 0
    }

    /// Gives the objects in pieces of a few megabytes, as they are at one moment.
    ///
    /// - Throws: What `use` throws; Parse's errors for the query.
    public func visit(
        _ className: String, _ parameters: JSONObject, _ context: RequestContext,
        _ use: @Sendable (ObjectStore.Found) async throws -> Void
    ) async throws {
        try await backend.store.pieces.visit(try await request(className, parameters, context), use)
    }
}
