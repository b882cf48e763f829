import Testing

/// Cloud code means the same whoever hosts it: one table, each host.
@Suite struct CloudScenarioTests {
    /// What every host plays.
    static let all = CloudScenario.functions + CloudScenario.saves + CloudScenario.finds + CloudScenario.accounts
    /// What code plays that knows objects, in Swift or in JavaScript.
    static let code = CloudScenario.code + CloudScenario.validators

    /// The scenarios that are no calls of one kind of behaviour, or not of every host: where they are tested.
    private static let elsewhere: [Int: String] = [
        16: "functions as validators: NodeHostTests", 17: "functions as validators: NodeHostTests",
        52: "links in mails: LinkTriggerTests",
    ]

    @Test("Each of the sixty scenarios of Parse's cloud code is a test")
    func coverage() {
        let played = Set((Self.all + Self.code + CloudScenario.webhooks).map(\.number)).union(Self.elsewhere.keys)
        #expect(Set(1...60).subtracting(played).isEmpty)
    }

    /// Plays scenarios on a host, which has a behaviour for each.
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

    @Test("Webhooks play all scenarios")
    func webhooks() async throws {
        try await Self.play(Self.all + CloudScenario.webhooks, WebhookFixture())
    }

    @Test("Swift code plays all scenarios")
    func swift() async throws {
        try await Self.play(Self.all + Self.code, SwiftFixture())
    }

    @Test("Code in JavaScript plays all scenarios")
    func javaScript() async throws {
        try await Self.play(Self.all + Self.code, NodeFixture())
    }
}
