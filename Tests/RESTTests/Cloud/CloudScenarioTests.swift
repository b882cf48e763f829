import Testing

/// Cloud code means the same whoever hosts it: one table, each host.
@Suite struct CloudScenarioTests {
    static let all = CloudScenario.functions + CloudScenario.saves + CloudScenario.finds

    /// Plays all scenarios that a host has behaviours for.
    static func play(_ fixture: some CloudFixture) async throws {
        let scenarios = all.filter { fixture.scenarios.contains($0.name) }
        #expect(!scenarios.isEmpty)
        try await fixture.run { server in
            for scenario in scenarios {
                do {
                    try await scenario.play(server)
                } catch {
                    Issue.record("scenario \(scenario.number), \(scenario.name): \(error)")
                }
            }
        }
    }

    @Test("Webhooks play all scenarios")
    func webhooks() async throws {
        #expect(Set(Self.all.map(\.name)) == WebhookFixture().scenarios)
        try await Self.play(WebhookFixture())
    }

    @Test("Swift code plays all scenarios")
    func swift() async throws {
        #expect(Set(Self.all.map(\.name)) == SwiftFixture().scenarios)
        try await Self.play(SwiftFixture())
    }

    @Test("Code in JavaScript plays all scenarios")
    func javaScript() async throws {
        try await Self.play(NodeFixture())
    }
}
