import NodeHost
import Testing

/// The environment variables of an app's code.
@Suite struct HostEnvironmentTests {
    private static let changes = HostEnvironment.changes(socket: "/s", secret: "x")

    @Test(
        "Removes the server's configuration from the environment of cloud code",
        arguments: [
            "PARSE_SERVER_MASTER_KEY", "PARSE_SERVER_DATABASE_URI", "PARSE_SERVER_LIVE_QUERY_SERVER_OPTIONS",
            "PARSE_SERVER_LIVE_QUERY", "PARSE_SERVER_LIVEQUERY_CLASSNAMES", "PARSE_SERVER_AUTH_PROVIDERS",
            "PARSE_SERVER_PUSH", "PARSE_SERVER_FILES_ADAPTER", "PARSE_SERVER_FILE_KEY", "PARSE_SERVER_REST_API_KEY",
            "PARSE_SERVER_EMAIL_ADAPTER", "PARSE_SERVER_ENCRYPTION_KEY", "PARSE_SERVER_WEBHOOK_KEY",
        ])
    func configuration(name: String) {
        #expect(Self.changes.contains { $0.key == name && $0.value == nil })
    }

    @Test(
        "Passes the app's own variables and PARSE_SERVER_URL to cloud code",
        arguments: ["PORT", "MY_KEY", "PARSE_SERVER_URL", "PATH"])
    func own(name: String) {
        #expect(!Self.changes.keys.contains(name))
    }
}
