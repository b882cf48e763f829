import JSON
import TestSupport

/// Cloud code for ``CloudScenario``s on one kind of host.
///
/// The code has functions and triggers with the names that scenarios use, and does what their comments say. All hosts
/// receive the same requests and must return the same responses.
protocol CloudFixture: Sendable {
    /// The names of the scenarios that the code supports.
    var scenarios: Set<String> { get }

    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws
}

/// Requests to cloud code and the expected responses, independent of the host.
struct CloudScenario: Sendable {
    /// The scenario's number in the list of Parse's cloud-code behaviors, or 0.
    let number: Int
    /// The scenario's name: that of its function, or of its class if capitalized.
    let name: String
    /// Sends the requests and checks the responses.
    let play: @Sendable (TestServer) async throws -> Void

    init(_ number: Int, _ name: String, _ play: @escaping @Sendable (TestServer) async throws -> Void) {
        self.number = number
        self.name = name
        self.play = play
    }
}
