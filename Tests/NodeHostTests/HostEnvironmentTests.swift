import Testing

@testable import NodeHost

/// What an app's code finds in its environment.
@Suite struct HostEnvironmentTests {
    @Test("No variable that holds a key is handed on")
    func secrets() {
        let changes = HostEnvironment.changes(socket: "/s", secret: "x")
        for name in [
            "PARSE_SERVER_MASTER_KEY", "PARSE_SERVER_DATABASE_URI", "PARSE_SERVER_LIVE_QUERY_SERVER_OPTIONS",
        ] {
            #expect(changes.contains { $0.key == name && $0.value == nil }, "\(name)")
        }
        #expect(!changes.keys.contains("PORT"))
    }
}
