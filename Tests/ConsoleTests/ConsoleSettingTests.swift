import Foundation
import JSON
import TestSupport
import TestTools
import Testing

@Suite("Settings changed at runtime")
struct ConsoleSettingTests {
    private static func path(_ name: String) -> String { "/console/api/settings/\(name)" }
    private static let limits = path("rateLimit")

    private static func limit(_ count: Double) -> JSONValue {
        [
            "requestPath": "/classes/Shared", "requestTimeWindow": 3_600_000, "requestCount": .number(count),
            "includeInternalRequests": true,
        ]
    }

    private static let options: JSONObject = ["rateLimit": [limit(5)]]

    /// Sends requests until one is rejected. Returns the number of the others.
    private static func served(by server: TestServer) async throws -> Int {
        for number in 0..<10 where try await server.send("GET", "/classes/Shared").status == 429 { return number }
        return 10
    }

    private static func count(_ value: JSONValue?) -> JSONValue? { value?.arrayValue?.first?["requestCount"] }

    @Test("A changed rate limit applies immediately, on all servers and after a restart, until it is reset")
    func rateLimit() async throws {
        try await TestServer.run(Self.options) { server in
            try await server.alongside(Self.options) { other in
                let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
                let elsewhere = try await ConsoleBrowser(other, ConsoleBrowser.masterKey)
                let before = try await developer.send("GET", Self.limits)
                #expect(before["source"] == "file" && Self.count(before["value"]) == 5, "\(before.text)")
                #expect(try await Self.served(by: server) == 5)
                let changed = try await developer.send("PUT", Self.limits, ["value": [Self.limit(2)]])
                #expect(changed.status == 200 && Self.count(changed["value"]) == 2, "\(changed.text)")
                #expect(changed["source"] == "stored" && Self.count(changed["file"]) == 5, "\(changed.text)")
                #expect(changed["from"]?.arrayValue?.first?.stringValue?.hasPrefix("developer ") == true)
                #expect(try await Self.served(by: server) == 2)
                func isKnownElsewhere(_ source: JSONValue) async throws -> Bool {
                    try await eventually { try await elsewhere.send("GET", Self.limits)["source"] == source }
                }
                #expect(try await isKnownElsewhere("stored"))
                #expect(try await Self.served(by: other) == 2)
                let restarted = try await server.alongside(Self.options) { try await Self.served(by: $0) }
                #expect(restarted == 2)
                let reset = try await developer.send("DELETE", Self.limits)
                #expect(reset["source"] == "file" && Self.count(reset["value"]) == 5, "\(reset.text)")
                #expect(try await Self.served(by: server) == 5)
                #expect(try await isKnownElsewhere("file"))
                #expect(try await Self.served(by: other) == 5)
            }
        }
    }

    @Test("Rejects invalid values with the configuration file's errors, and changes nothing")
    func invalidLimits() async throws {
        try await TestServer.run(Self.options) { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            _ = try await developer.send("PUT", Self.limits, ["value": [Self.limit(2)]])
            let wrong: [(JSONValue, String)] = [
                (1, "rateLimit must be an array or object"), ([1], "rateLimit must be an array of objects"),
                ([["requestPath": "/x"]], "rateLimit.requestTimeWindow must be defined"),
                ([["path": "/x"]], "Invalid rate limit option \"path\""),
            ]
            for (value, error) in wrong {
                let answer = try await developer.send("PUT", Self.limits, ["value": value])
                #expect(answer.status == 400 && answer["error"]?.stringValue == error, "\(answer.text)")
            }
            #expect(try await developer.send("PUT", Self.limits, [:]).status == 400)
            #expect(try await Self.served(by: server) == 2)
            #expect(try await developer.send("PUT", Self.path("port"), ["value": 1]).status == 404)
            let rows = try await developer.audit().filter { $0["path"] == "settings/rateLimit" }
            #expect(rows.map { $0["status"] } == [400, 400, 400, 400, 200], "\(rows)")
            #expect(rows.allSatisfy { $0["fields"] == ["rateLimit"] } && Self.count(rows.last?["after"]) == 2)
            #expect(Self.count(rows.first?["before"]) == 2 && rows.first?["after"]?.arrayValue == nil)
        }
    }

    @Test("Only developers and owners can read or change settings, and see the name of the configuration file")
    func roles() async throws {
        try await ConsoleStage.run { server in
            let nobody = ConsoleBrowser(server)
            let viewer = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let editor = try await ConsoleBrowser.operatorBrowser(server, "editor")
            for (method, path) in [("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/preview")] {
                let body: JSONValue? = method == "GET" ? nil : ["value": []]
                #expect(try await nobody.send(method, Self.limits + path, body).status == 401, "\(method)")
                #expect(try await viewer.send(method, Self.limits + path, body).status == 403, "\(method)")
                #expect(try await editor.send(method, Self.limits + path, body).status == 403, "\(method)")
            }
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            #expect(try await developer.send("GET", "/console/api/settings")["file"] == "roost.json")
            #expect(try await server.texts("SELECT to_regclass('_roost_option')::text").first != "_roost_option")
        }
    }

    @Test("Applies and logs stored values on servers without a console or in read-only mode")
    func otherServers() async throws {
        try await TestServer.run(Self.options) { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            #expect(try await owner.send("PUT", Self.limits, ["value": [Self.limit(2)]]).status == 200)
            // A row of another version, and one that this server can't use.
            try await server.execute(
                """
                INSERT INTO _roost_option VALUES ('future', '1', 'kim'), ('verificationEmail', '{}', 'kim')
                """)
            let more: [JSONObject] = [["console": ["enabled": false]], ["readOnly": true]]
            for options in more {
                let lines = LogLines()
                try await server.alongside(Self.options.merging(options) { $1 }, logger: lines.logger) { other in
                    let count = try await Self.served(by: other)
                    #expect(count == 2)
                    let line = "notice stored options override the configured ones options=rateLimit"
                    #expect(lines.all.count { $0 == line } == 1, "\(options)")
                    #expect(lines.all.contains { $0.hasPrefix("warning stored option ignored") }, "\(options)")
                }
            }
        }
    }

    @Test("Falls back to configured values if stored ones can't be read, and logs the reason once")
    func unreadable() async throws {
        try await TestServer.run(Self.options) { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            #expect(try await owner.send("PUT", Self.limits, ["value": [Self.limit(2)]]).status == 200)
            let role = "roost_test_" + UUID().uuidString.lowercased().replacing("-", with: "")
            try await server.execute(
                """
                CREATE ROLE \(role) LOGIN PASSWORD 'Swordfish'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO \(role);
                REVOKE SELECT ON _roost_option FROM \(role)
                """)
            var parts = try #require(URLComponents(string: server.databaseURI))
            (parts.user, parts.password) = (role, "Swordfish")
            let reader = TestServer(url: server.url, databaseURI: parts.string ?? "")
            let denied = await Result.awaiting {
                try await Self.expectIgnored(by: reader, "permission denied for table")
            }
            try await server.execute("DROP OWNED BY \(role); DROP ROLE \(role)")
            try denied.get()
            try await server.execute("ALTER TABLE _roost_option RENAME COLUMN who TO author")
            try await Self.expectIgnored(by: server, "column \"who\" does not exist")
        }
    }

    /// Expects that a read-only server starts, warns once and applies the configured limit.
    private static func expectIgnored(by server: TestServer, _ reason: String) async throws {
        let lines = LogLines()
        try await server.alongside(options.merging(["readOnly": true]) { $1 }, logger: lines.logger) { other in
            let served = try await Self.served(by: other)
            #expect(served == 5)
            // Once, although the options are loaded again when notifications can arrive.
            let warnings = lines.all.filter { $0.hasPrefix("warning ") && $0.contains("stored options") }
            #expect(
                warnings.count == 1 && warnings[0].hasPrefix("warning stored options ignored reason=\(reason)"),
                "\(warnings)")
        }
    }

    private static let reset = path("passwordResetEmail")

    @Test("A changed email text can be previewed by language and applies to the next email until it is reset")
    func mailText() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options()) { server in
                let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
                let before = try await developer.send("GET", Self.reset)
                #expect(before["source"] == "default" && before["languages"] == ["en", "de"], "\(before.text)")
                #expect(before["value"]?["subject"]?["default"] == "Password Reset for {{appName}}", "\(before.text)")
                #expect(before["value"]?["text"]?["de"]?.stringValue?.contains("{{link}}") == true)
                let value: JSONValue = [
                    "subject": "New password for {{username}}",
                    "text": ["default": "Open {{link}}", "de": "Auf {{link}}"],
                ]
                let preview = try await developer.send(
                    "POST", Self.reset + "/preview", ["value": value, "language": "de"])
                #expect(preview["subject"] == "New password for kim", "\(preview.text)")
                #expect(preview["text"]?.stringValue?.hasPrefix("Auf http://app.example/") == true, "\(preview.text)")
                let changed = try await developer.send("PUT", Self.reset, ["value": value])
                #expect(changed.status == 200 && changed["source"] == "stored", "\(changed.text)")
                func mail(_ number: Int) async throws -> MailCatcher.Mail {
                    _ = try await server.send("POST", "/requestPasswordReset", ["email": "kim@m.example"]).succeeded()
                    return try await catcher.mail(to: "kim@m.example", number: number)
                }
                _ = try await server.signUp("kim", ["email": "kim@m.example"])
                let first = try await mail(1)
                #expect(first.subject == "New password for kim" && first.text.hasPrefix("Open http"), "\(first.text)")
                #expect(try await developer.send("DELETE", Self.reset)["source"] == "default")
                #expect(try await mail(2).subject == "Password Reset for Größe")
            }
        }
    }

    @Test("Rejects invalid email texts, file paths and changes without an email adapter")
    func invalidMailTexts() async throws {
        try await TestServer.run(MailCatcher.options(port: 1)) { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let option = "emailAdapter.options.templates.passwordResetEmail"
            let wrong: [(JSONValue, String)] = [
                ("text", "option \(option) must be an object"),
                (["subject": 1], "\(option).subject must be a string, or an object of strings by language"),
                (["textPath": "/etc/passwd"], "unknown option \(option).textPath"),
                (
                    ["text": "{{#username}}"],
                    "option emailAdapter: passwordResetEmail.text is not a valid Mustache template"
                ),
            ]
            for (value, error) in wrong {
                for (method, path) in [("PUT", Self.reset), ("POST", Self.reset + "/preview")] {
                    let answer = try await developer.send(method, path, ["value": value])
                    #expect(answer.status == 400 && answer["error"]?.stringValue == error, "\(answer.text)")
                }
            }
            #expect(try await developer.send("GET", Self.reset)["source"] == "default")
        }
        try await TestServer.run { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            #expect(try await developer.send("GET", Self.reset).status == 404)
            let answer = try await developer.send("PUT", Self.reset, ["value": ["text": "Hi"]])
            #expect(answer["error"]?.stringValue == "emailAdapter is not configured (docs/accounts.md)")
        }
    }

    @Test("Changes start from the configured template, and a reset restores it")
    func configuredTemplate() async throws {
        var options = MailCatcher.options(port: 1)
        let template: JSONValue = ["passwordResetEmail": ["subject": "Reset", "html": "<p>{{link}}</p>"]]
        options["emailAdapter"] = [
            "module": "smtp", "options": ["host": "127.0.0.1", "from": "a@m.example", "templates": template],
        ]
        try await TestServer.run(options) { server in
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let before = try await developer.send("GET", Self.reset)
            #expect(before["source"] == "file", "\(before.text)")
            #expect(before["value"] == ["subject": ["default": "Reset"], "html": ["default": "<p>{{link}}</p>"]])
            let changed = try await developer.send(
                "PUT", Self.reset, ["value": ["subject": "New", "text": "{{link}}"]])
            #expect(changed["file"] == before["value"] && changed["value"]?["html"] == nil, "\(changed.text)")
            #expect(try await developer.send("DELETE", Self.reset)["value"] == before["value"])
            let all = try await developer.send("GET", "/console/api/settings")["settings"]?.arrayValue ?? []
            let names = all.filter { $0["isChangeable"] == true }.compactMap { $0["name"]?.stringValue }
            #expect(Set(names) == ["rateLimit", "verificationEmail", "passwordResetEmail"])
        }
    }
}
