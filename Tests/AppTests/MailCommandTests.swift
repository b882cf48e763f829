import Foundation
import JSON
import Subprocess
import TestSupport
import Testing

#if canImport(System)
    import System
#else
    import SystemPackage
#endif

/// `roost mail`, and emails printed on a terminal.
@Suite("Email on the command line", .timeLimit(.minutes(10)))
struct MailCommandTests {
    private static func run(
        _ arguments: [String], _ options: JSONObject, _ check: (String, String) throws -> Void = { _, _ in }
    )
        async throws -> (isSuccess: Bool, text: String)
    {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-mail-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(options.serialized()).write(to: URL(fileURLWithPath: folder + "/roost.json"))
        let all = ["mail"] + arguments.map { $0 == "FOLDER" ? folder + "/preview" : $0 } + [folder + "/roost.json"]
        let result = try await Subprocess.run(
            .path(FilePath(try CrashServer.findBinary())), arguments: Arguments(all), output: .string(limit: 65_536),
            error: .string(limit: 65_536))
        let text = result.standardOutput + result.standardError
        try check(folder + "/preview", text)
        return (result.terminationStatus.isSuccess, text)
    }

    @Test("roost mail preview writes every email and page in each language")
    func preview() async throws {
        let options: JSONObject = [
            "appId": "app", "masterKey": "m", "appName": "Größe <b>", "pages": ["enableLocalization": true],
            "emailAdapter": [
                "module": "smtp",
                "options": [
                    "host": "h", "from": "a@m.example", "userFields": ["city"],
                    "templates": [
                        "verificationEmail": [
                            "subject": ["default": "Hello {{username}}", "fr": "Bonjour {{username}}"],
                            "html": "<p>{{city}} <a href=\"{{{link}}}\">x</a></p>",
                        ]
                    ],
                ],
            ],
        ]
        let result = try await Self.run(["preview", "FOLDER"], options) { folder, text in
            func content(_ path: String) -> String {
                (try? String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)) ?? ""
            }
            #expect(content("mails/fr/verificationEmail.txt").hasPrefix("Subject: Bonjour kim\n\ncity x\n"), "\(text)")
            #expect(content("mails/en/verificationEmail.html").contains("/verify_email?token="))
            #expect(content("mails/de/passwordResetEmail.txt").contains("Hallo,"))
            #expect(content("mails/en/emailChangedEmail.txt").contains("was changed or removed"))
            #expect(content("mails/en/passwordChangedEmail.txt").contains("was changed"))
            #expect(content("mails/de/operatorInvitationEmail.txt").contains("https://example.com/console/start"))
            for locale in ["en", "de"] {
                for page in ["password_reset", "password_reset_success", "email_verification_link_expired"] {
                    let html = content("pages/\(locale)/\(page).html")
                    #expect(html.contains("lang=\"\(locale)\"") && html.contains("href=\"..&#x2F;style.css\""))
                    #expect(html.contains("Größe &lt;b&gt;"))
                }
            }
            #expect(content("pages/style.css").contains("main"))
            #expect(content("index.html").contains("pages/de/password_reset.html"))
        }
        #expect(result.isSuccess, "\(result.text)")
    }

    @Test("roost mail test sends an email and prints the server's reply or the reason for the failure")
    func test() async throws {
        try await MailCatcher.run { catcher in
            let options = catcher.options(["appId": "app", "masterKey": "m"])
            let sent = try await Self.run(["test", "ann@m.example"], options)
            #expect(sent.isSuccess && sent.text.contains("The server replied: 250 taken"), "\(sent.text)")
            let mail = try await catcher.mail(to: "ann@m.example")
            #expect(mail.subject == "Test email from Größe")
            let address = try await Self.run(["test", "nobody"], options)
            #expect(!address.isSuccess && address.text.contains("invalid sender or recipient address"))
        }
        let port = try await FreePort.find()
        let away: JSONObject = [
            "appId": "app", "masterKey": "m",
            "emailAdapter": [
                "module": "smtp",
                "options": ["host": "127.0.0.1", "port": .number(Double(port)), "from": "a@m.example"],
            ],
        ]
        let refused = try await Self.run(["test", "ann@m.example"], away)
        #expect(!refused.isSuccess && refused.text.contains("the email was not accepted"), "\(refused.text)")
        let without = try await Self.run(["test", "ann@m.example"], ["appId": "app", "masterKey": "m"])
        #expect(!without.isSuccess && without.text.contains("emailAdapter is not configured"), "\(without.text)")
    }

    /// Runs a program on a terminal, copies its output, and forwards SIGTERM.
    private static let terminal = """
        import os, pty, signal, sys
        child, screen = pty.fork()
        if child == 0:
            os.execv(sys.argv[1], sys.argv[1:])
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
        while True:
            try:
                text = os.read(screen, 65536)
            except OSError:
                break
            if not text:
                break
            os.write(1, text)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """

    @Test(
        "Without emailAdapter, prints emails on a terminal; elsewhere the request fails"
    )
    func terminal() async throws {
        try await CrashServer.run { server in
            try await server.start(launcher: ["/usr/bin/env", "python3", "-c", Self.terminal])
            let isAnnounced = try await eventually {
                server.output.contains("shown here, since no emailAdapter is configured")
            }
            #expect(isAnnounced, "\(server.output)")
            let user: JSONValue = ["username": "ann", "password": "old", "email": "ann@m.example"]
            #expect(try await server.send("POST", "/users", user).status == 201)
            let asked = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"])
            #expect(asked.status == 200, "\(asked.body.text)")
            let isShown = try await eventually { server.output.contains("/request_password_reset?token=") }
            #expect(isShown, "\(server.output)")
            #expect(server.output.contains("Subject: Password Reset for \(CrashServer.applicationID)"))
            let link = try #require(
                server.output.split(whereSeparator: \.isWhitespace).first { $0.contains("request_password_reset") })
            #expect(link.hasPrefix("http://localhost:\(server.port)/parse/apps/"))
            let path = link.dropFirst("http://localhost:\(server.port)/parse".count)
            #expect(try await server.send("GET", String(path)).status == 200)
            try await server.end(by: SIGTERM)
            try await server.start()
            let refused = try await server.send("POST", "/requestPasswordReset", ["email": "ann@m.example"])
            #expect(refused.body["code"] == 108)
        }
    }
}
