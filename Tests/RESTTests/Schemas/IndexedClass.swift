import JSON
import TestSupport

/// A class whose indexes are tried, over HTTP and in PostgreSQL.
struct IndexedClass: Sendable {
    let name: String
    /// The fields, as the schemas API takes them.
    let fields: JSONObject

    /// Runs a server that has the class.
    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await TestServer.run { server in
            _ = try await server.send("POST", "/schemas/\(name)", ["fields": .object(fields)], as: .master).succeeded()
            try await body(server)
        }
    }

    /// Asks for indexes.
    func put(_ indexes: JSONValue, _ server: TestServer) async throws -> TestAnswer {
        try await server.send("PUT", "/schemas/\(name)", ["indexes": indexes], as: .master)
    }

    /// The indexes that the schemas API lists.
    func listed(_ server: TestServer) async throws -> JSONValue? {
        try await server.send("GET", "/schemas/\(name)", as: .master)["indexes"]
    }

    /// The definitions of indexes in PostgreSQL, without those that Roost makes by itself.
    ///
    /// - Parameter table: Another table than that of the class.
    func definitions(_ server: TestServer, table: String? = nil) async throws -> [String] {
        try await server.texts(
            "SELECT indexdef FROM pg_indexes WHERE tablename = '\(table ?? name)' AND indexname NOT LIKE '%pkey' "
                + "AND indexname !~ '^roost_(created|geo|owner)' ORDER BY indexname")
    }
}
