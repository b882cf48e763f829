import JSON
import ParseModel
import ParseStorage
import Rules

/// `/graphql-config`: kept for parse-server, which reads it; Roost has no GraphQL.
public struct GraphQLConfig: Sendable, BackendPart {
    let backend: Backend

    /// The settings; empty when there are none.
    public func read() async throws -> JSONObject {
        var request = ObjectStore.FindRequest(className: "_GraphQLConfig")
        request.filter = .field(FieldPath("objectId"), .equal("1"))
        return try await store.find(request).objects.first?["config"]?.objectValue ?? [:]
    }

    /// Replaces the settings.
    public func change(_ body: JSONObject, _ context: RequestContext) async throws {
        guard context.caller.power == .master else {
            throw ParseError.denied(
                ParseError.operationForbidden, "read-only masterKey isn't allowed to update the GraphQL config.")
        }
        var write = ObjectWrite()
        write.operations["config"] = .set(.object(body["params"]?.objectValue ?? [:]))
        try await store.settings.change(.graphQL, write)
    }
}
