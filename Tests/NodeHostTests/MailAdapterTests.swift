import Foundation
import JSON
import NodeHost
import ServerConfiguration
import TestSupport
import Testing

/// An app's own mail adapters, which run in Node.js. The tests' adapters log the emails.
@Suite("Mail adapters in JavaScript")
struct NodeMailAdapterTests {
    private static let options: JSONObject = [
        "appName": "Tests", "publicServerURL": "http://127.0.0.1/parse", "verifyUserEmails": true,
    ]

    private static func serve(
        _ module: String, at file: String = "postman.js", named name: String = "./postman.js",
        _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        try await IndexApp.with([file: module]) { app in
            let adapter: JSONValue = ["module": .string(name), "options": ["from": "a@m.example"]]
            try await TestServer.run(
                options.merging(["emailAdapter": adapter]) { $1 }, logger: UnwrittenLog.logger(),
                configure: { $0.resolvePaths(in: app.folder) }, body)
        }
    }

    @Test("sendMail gets the email, and sendPasswordResetEmail the link, app name and user without secrets")
    func mails() async throws {
        let module = """
            module.exports = options => ({
              sendMail: async mail => console.log(`plain ${options.from} ${Object.keys(mail)} ${mail.to} ${mail.text.includes('http')}`),
              sendPasswordResetEmail: async ({ link, appName, user }) => {
                const secrets = /password|token|authData/i.exec(JSON.stringify(user.toJSON()));
                console.log(`reset ${link.startsWith('http')} ${appName} ${user.get('email')} ${secrets}`);
              },
            });
            """
        try await Self.serve(module) { server in
            _ = try await server.signUp("kim", ["email": "kim@m.example"])
            #expect(try await server.logs("plain a@m.example to,subject,text kim@m.example true"))
            let reset = try await server.send("POST", "/requestPasswordReset", ["email": "kim@m.example"])
            #expect(reset.status == 200, "\(reset.text)")
            #expect(try await server.logs("reset true Tests kim@m.example null"))
        }
    }

    @Test("Sends password resets with sendMail if a packaged adapter has no sendPasswordResetEmail")
    func plainReset() async throws {
        let module = """
            module.exports = () => ({
              sendMail: async mail => console.log(`${Object.keys(mail)} ${mail.to} ${mail.subject} ${mail.text.includes('http')}`),
            });
            """
        let package = "node_modules/parse-server-mailjet-adapter/index.js"
        try await Self.serve(module, at: package, named: "parse-server-mailjet-adapter") { server in
            _ = try await server.signUp("kim", ["email": "kim@m.example"])
            let reset = try await server.send("POST", "/requestPasswordReset", ["email": "kim@m.example"])
            #expect(reset.status == 200, "\(reset.text)")
            #expect(try await server.logs("to,subject,text kim@m.example Password Reset for Tests true"))
        }
    }

    @Test("Retries an email that the adapter rejects, and removes it from the queue once it is sent")
    func retries() async throws {
        let module = """
            let attempts = 0;
            class Postman {
              async sendMail(mail) {
                attempts += 1;
                if (attempts < 3) throw new Error('busy');
                console.log(`sent to ${mail.to} at attempt ${attempts}`);
              }
            }
            module.exports = { default: Postman };
            """
        try await Self.serve(module) { server in
            _ = try await server.signUp("kim", ["email": "kim@m.example"])
            #expect(try await server.logs("sent to kim@m.example at attempt 3"))
            #expect(try await eventually { try await server.texts("SELECT id::text FROM _roost_mail").isEmpty })
        }
    }

    @Test("Parse.Cloud.sendEmail calls the adapter directly, without queueing, and returns its result or error")
    func code() async throws {
        let code = """
            const { ParseServer } = require('parse-server');
            new ParseServer({
              appId: 'testApp', masterKey: 'testMaster', appName: 'Tests', publicServerURL: 'http://127.0.0.1/parse',
              emailAdapter: { sendMail: async mail => { if (mail.any !== 'thing') throw new Error('no thing'); return 'sent'; } },
              cloud: Parse => Parse.Cloud.define('mail', request => Parse.Cloud.sendEmail(request.params)),
            });
            """
        try await IndexApp.serve(["index.js": code]) { server, _, _ in
            #expect(try await server.call("mail", ["any": "thing"])["result"] == "sent")
            let refused = try await server.call("mail", [:])
            #expect(refused.code == 141 && refused.error == "no thing", "\(refused.text)")
            #expect(try await server.texts("SELECT id::text FROM _roost_mail").isEmpty)
        }
    }

    @Test(
        "Refuses to start, naming the adapter, if loading it exits or hangs the process",
        arguments: [("process.exit(0);", "ended the process: "), ("for (;;);", "was not loaded within ")])
    func neverLoaded(module: String, expected: String) async throws {
        try await CloudApp.with(["postman.js": module]) { app in
            let settings = try TunedServer.settings(app) { settings in
                settings.hasMain = false
                settings.folder = app.folder + "/cloud"
                settings.mail = ["module": "./postman.js"]
                settings.startLimit = .seconds(8)
            }
            let host = NodeHost(settings, sendMail: nil, logger: TestServer.quietLogger)
            let error = await #expect(throws: (any Error).self) { try await TunedServer.start(host) }
            #expect(
                error.map { "\($0)".contains("emailAdapter ./postman.js \(expected)") } == true,
                "\(String(describing: error))")
        }
    }

    @Test("Rejects the internal module name roost:app in the configuration")
    func appModule() async throws {
        let error = await #expect(throws: (any Error).self) {
            try await TestServer.run(Self.options.merging(["emailAdapter": ["module": "roost:app"]]) { $1 }) { _ in }
        }
        #expect(
            error.map { "\($0)".contains("option emailAdapter.module must be a file or package") } == true,
            "\(String(describing: error))")
    }

    @Test("Refuses to start if the mail adapter has no sendMail")
    func incomplete() async throws {
        let error = await #expect(throws: (any Error).self) { try await Self.serve("module.exports = {};") { _ in } }
        #expect(
            error.map { "\($0)".contains("Adapter prototype don't match expected prototype") } == true,
            "\(String(describing: error))")
    }
}
