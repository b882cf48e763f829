import JSON
import TestSupport

/// The scenarios' cloud code in JavaScript, run by a real Node.js process.
struct NodeFixture: CloudFixture {
    var scenarios: Set<String> { Set((CloudScenarioTests.all + CloudScenarioTests.code).map(\.name)) }

    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        try await CloudApp.serve(try CloudApp.files("shared")) { server, _ in try await body(server) }
    }
}
