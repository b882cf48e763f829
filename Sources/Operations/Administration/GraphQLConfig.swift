import JSON
import ParseModel
import ParseStorage
import Postgres
import Rules

/// `/graphql-config`: kept for parse-server, which reads it; Roost has no GraphQL.
extension Backend {
    /// The settings; empty when there are none.
    public func graphQLConfig() async throws -> JSONObject {
        var request = ObjectStore.FindRequest(className: "_GraphQLConfig")
        request.filter = .field(FieldPath("objectId"), .equal("1"))
        return try await store.find(request).objects.first?["config"]?.objectValue ?? [:]
    }

    /// Replaces the settings.
    public func changeGraphQLConfig(_ body: JSONObject, _ context: RequestContext) async throws {
        guard context.caller.power == .master else {
            throw ParseError.denied(
                ParseError.operationForbidden, "read-only masterKey isn't allowed to update the GraphQL config.")
        }
        _ = try await store.query(
            "INSERT INTO \"_GraphQLConfig\" (\"objectId\") VALUES ('1') ON CONFLICT DO NOTHING", [])
        var write = ObjectWrite()
        write.operations["config"] = .set(.object(body["params"]?.objectValue ?? [:]))
        _ = try await store.update("_GraphQLConfig", objectId: "1", write)
    }
}
