import JSON
import TestSupport

/// Cloud code for ``CloudScenario``s, on one of the hosts.
///
/// A host plays the scenarios that it has a behaviour for: functions and triggers of classes of the names that the scenario
/// uses, which do what its comment says. Every host is asked the same requests, and must answer the same.
protocol CloudFixture: Sendable {
    /// The names of the scenarios that it has a behaviour for.
    var scenarios: Set<String> { get }

    /// Runs a server with all behaviours of the fixture.
    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws
}

/// What is asked of a server with cloud code, and what it must answer, whoever hosts the code: a scenario of the table.
struct CloudScenario: Sendable {
    /// The number that the scenario has in the list of those of Parse's cloud code.
    let number: Int
    /// The name, which is that of its function, or of its class with a capital.
    let name: String
    /// Asks and expects.
    let play: @Sendable (TestServer) async throws -> Void

    init(_ number: Int, _ name: String, _ play: @escaping @Sendable (TestServer) async throws -> Void) {
        self.number = number
        self.name = name
        self.play = play
    }
}
