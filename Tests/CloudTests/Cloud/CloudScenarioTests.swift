import Testing

/// Runs the same scenarios on each host of cloud code.
@Suite struct CloudScenarioTests {
    static let all = CloudScenario.functions + CloudScenario.saves + CloudScenario.finds + CloudScenario.accounts
    /// Scenarios for hosts with Parse objects: Swift and JavaScript.
    static let code = CloudScenario.code + CloudScenario.validators

    /// Scenarios tested elsewhere, because they need more than one kind of behavior or aren't supported by all hosts.
    private static let elsewhere: [Int: String] = [
        16: "functions as validators: NodeHostTests", 17: "functions as validators: NodeHostTests",
        52: "links in emails: LinkTriggerTests",
    ]

    @Test("All sixty scenarios of Parse's cloud code are tested")
    func coverage() {
        let played = Set((Self.all + Self.code + CloudScenario.webhooks).map(\.number)).union(Self.elsewhere.keys)
        #expect(Set(1...60).subtracting(played).isEmpty)
    }

    static func play(_ scenarios: [CloudScenario], _ fixture: some CloudFixture) async throws {
        #expect(Set(scenarios.map(\.name)).subtracting(fixture.scenarios).isEmpty)
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

    @Test("Webhooks pass all scenarios")
    func webhooks() async throws {
        try await Self.play(Self.all + CloudScenario.webhooks, WebhookFixture())
    }

    @Test("Swift code passes all scenarios")
    func swift() async throws {
        try await Self.play(Self.all + Self.code, SwiftFixture())
    }

    @Test("JavaScript code passes all scenarios")
    func javaScript() async throws {
        try await Self.play(Self.all + Self.code, NodeFixture())
    }
}
