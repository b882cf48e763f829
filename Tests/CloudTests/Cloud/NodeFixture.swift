import JSON
import TestSupport

/// Cloud code for the scenarios, in JavaScript: a real process of Node.
struct NodeFixture: CloudFixture {
    /// All of the table.
    var scenarios: Set<String> { Set((CloudScenarioTests.all + CloudScenarioTests.code).map(\.name)) }

    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await CloudApp.serve(try CloudApp.files("shared")) { server, _ in try await body(server) }
    }
}
