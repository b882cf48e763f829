import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import Testing

/// The supported parts of an app's own index.js, and those that the owner must change.
@Suite("Adapters, routes and failures of an app's own index.js")
struct IndexScenarioTests {
    private static func code(_ options: String, _ behind: String = "") -> String {
        """
        const { ParseServer } = require('parse-server');
        const app = require('express')();
        const server = new ParseServer({ appId: 'a', masterKey: 'm', \(options) });
        \(behind)
        """
    }

    @Test(
        "Reads the options of adapters that Roost replaces, whether called as functions or constructors",
        arguments: [
            (
                "emailAdapter: require('parse-server-mailgun')({ apiKey: 'k', domain: 'd.example' })", "emailAdapter",
                ["module": "parse-server-mailgun", "options": ["apiKey": "k", "domain": "d.example"]]
            ),
            (
                "filesAdapter: new (require('@parse/s3-files-adapter'))('k', 's', 'bucket', { region: 'eu' })",
                "filesAdapter",
                [
                    "module": "@parse/s3-files-adapter",
                    "options": ["accessKey": "k", "secretKey": "s", "bucket": "bucket", "region": "eu"],
                ]
            ),
        ] as [(String, Name, JSONValue)])
    func adapters(option: String, name: Name, expected: JSONValue) async throws {
        try await IndexApp.with(["index.js": Self.code(option)]) { app in
            let served = try await app.read()
            #expect(served.options[name] == expected, "\(served.options)")
            #expect(served.undecided.isEmpty, "\(served.undecided)")
        }
    }

    @Test(
        "Reports unsupported adapters and routes of ParseServer's own application with file and line",
        arguments: [
            ("filesAdapter: new (class Drive {})()", "", "filesAdapter: an instance of Drive can't be used", 3),
            (
                "", "server.app.get('/own', (req, res) => res.end());",
                "server.app.get: routes can't be added to", 4
            ),
            ("", "server.start().then(() => server.app.use(() => {}));", "server.app.use: routes can't be added to", 4),
            ("", "server.start().then(() => server.expressApp.get('/own', () => {}));", "server.app.get: ", 4),
        ])
    func undecided(options: String, behind: String, expected: String, line: Int) async throws {
        try await IndexApp.with(["index.js": Self.code(options, behind)]) { app in
            let undecided = try await app.read().undecided.map(\.text)
            #expect(undecided.count == 1 && undecided.first?.hasPrefix(expected) == true, "\(undecided)")
            #expect(undecided.first?.hasSuffix("(index.js:\(line))") == true, "\(undecided)")
        }
    }

    @Test("Warns that the app's routes are unreachable if the mount path is /")
    func rootMount() async throws {
        let behind = """
            app.use('/', server.app);
            app.get('/own', (req, res) => res.send('own'));
            app.listen(1337);
            """
        try await IndexApp.with(["index.js": Self.code("", behind)]) { app in
            let served = try await app.read()
            #expect(served.options["mountPath"] == "/")
            #expect(served.warnings.contains { $0.hasPrefix("routes: the app's own routes get no requests") })
        }
    }

    @Test("Gives up on an index.js that takes over 30 seconds, and reports its output")
    func endless() async throws {
        let code = Self.code("", "console.log('for ever'); for (;;);")
        try await IndexApp.with(["index.js": code]) { app in
            let error = await #expect(throws: ConfigurationError.self) { try await app.read() }
            #expect(error?.message == "index.js ended early or took over 30 s\nfor ever", "\(error?.message ?? "")")
        }
    }

    @Test("Warns if index.js throws after creating its server, and then fails to start with the stack")
    func laterFailure() async throws {
        let code = Self.code("", "throw new Error('not today');")
        try await IndexApp.with(["index.js": code]) { app in
            let served = try await app.read()
            #expect(served.warnings.contains { $0.contains("it failed after creating its server: Error: not today") })
            let error = await #expect(throws: (any Error).self) {
                try await TestServer.run(configure: { served.configure(&$0) }) { _ in }
            }
            let message = error.map { "\($0)" } ?? ""
            #expect(message.contains("not today") && message.contains("index.js:4"), "\(message)")
        }
    }
}
