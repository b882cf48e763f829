import JSON
import TestSupport
import TestTools
import Testing

/// Runs the console's page in a browser, with a real server and database. The scripts in `Browser` contain the
/// scenarios. One browser at a time.
@Suite("The console in a browser", .serialized, .timeLimit(.minutes(10))) struct ConsoleScenarioTests {
    @Test(
        "Passes all browser scenarios",
        arguments: [
            "signing_in", "browsing", "editing", "pages", "going_on", "doing", "seeing", "hostile", "moving",
            "guarding",
        ])
    func scenarios(_ group: String) async throws {
        try await ConsoleStage.runWithPush { server in
            let ticket = try await server.consoleTicket()
            try await Self.run(group, server, ["--masterKey", TestServer.masterKey, "--ticket", ticket])
        }
    }

    @Test("Opening the console with a ticket shows rows without a log-in form, in time")
    func firstVisit() async throws {
        let options: JSONObject = [
            "clientKey": "client key", "console": ["signIn": "thisMachine"], "liveQuery": ["classNames": ["First"]],
        ]
        try await TestServer.run(options, logger: UnwrittenLog.logger()) { server in
            try await Self.run("arriving", server, ["--ticket", server.consoleTicket()])
        }
    }

    @Test("Health reports an unresponsive file store, and a full disk with PostgreSQL's message")
    func failing() async throws {
        let port = try await FreePort.find()
        let options: JSONObject = [
            "filesAdapter": [
                "module": "@parse/s3-files-adapter",
                "options": [
                    "bucket": "files",
                    "s3overrides": [
                        "endpoint": .string("http://127.0.0.1:\(port)"), "s3ForcePathStyle": true,
                        "accessKeyId": "test", "secretAccessKey": "testing",
                    ],
                ],
            ]
        ]
        try await TestServer.run(options) { server in
            try await Self.run("failing", server, ["--masterKey", TestServer.masterKey, "--bucket", "\(port)"])
        }
    }

    @Test("Emails invitations to operators from the page")
    func inviting() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options()) { server in
                try await Self.run("inviting", server, ["--masterKey", TestServer.masterKey])
                let mail = try await catcher.mail(to: "invited@m.example")
                #expect(mail.link.hasSuffix("/console/start"))
            }
        }
    }

    private static func run(_ group: String, _ server: TestServer, _ credentials: [String]) async throws {
        let root = String(server.url.dropLast("/parse".count))
        let outcome = try await Program.run(
            [
                "python3", "-B", Checkout.path("Tests/ConsoleTests/Browser/scenarios.py"), "--rows", "3000",
                "--console", root + "/console", "--rest", server.url, "--key", TestServer.masterKey, "--group", group,
                "--app", TestServer.applicationID, "--database", server.databaseURI, "--client-key", TestServer.restKey,
            ] + credentials)
        #expect(outcome.status == 0, "\(outcome.output)")
    }

    @Test("The page's files follow the lint rules: no sinks, one import direction, sizes and wording")
    func lint() async throws {
        let outcome = try await Program.run(["python3", "-B", Checkout.path("scripts/lint_console.py")])
        #expect(outcome.status == 0, "\(outcome.output)")
    }
}
