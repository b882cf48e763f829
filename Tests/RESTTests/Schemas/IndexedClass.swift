import JSON
import TestSupport

/// A class for testing indexes over HTTP and in PostgreSQL.
struct IndexedClass: Sendable {
    let name: String
    /// The fields in the format of the schemas API.
    let fields: JSONObject

    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run { server in
            _ = try await server.send("POST", "/schemas/\(name)", ["fields": .object(fields)], as: .master).succeeded()
            try await body(server)
        }
    }

    func put(_ indexes: JSONValue, _ server: TestServer) async throws -> TestAnswer {
        try await server.send("PUT", "/schemas/\(name)", ["indexes": indexes], as: .master)
    }

    func listed(_ server: TestServer) async throws -> JSONValue? {
        try await server.send("GET", "/schemas/\(name)", as: .master)["indexes"]
    }

    /// The index definitions in PostgreSQL, without those that Roost creates itself.
    ///
    /// - Parameter table: A table other than the class's.
    func definitions(_ server: TestServer, table: String? = nil) async throws -> [String] {
        try await server.texts(
            "SELECT indexdef FROM pg_indexes WHERE tablename = '\(table ?? name)' AND indexname NOT LIKE '%pkey' "
                + "AND indexname !~ '^roost_(created|geo|owner)' ORDER BY indexname")
    }
}
