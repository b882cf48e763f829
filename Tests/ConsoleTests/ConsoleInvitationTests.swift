import JSON
import ServerConfiguration
import TestSupport
import Testing

@Suite("Operator invitations by email")
struct ConsoleInvitationTests {
    private static func add(_ owner: ConsoleBrowser, _ name: String) async throws -> String {
        let made = try await owner.send(
            "POST", "/console/api/operators",
            ["name": .string(name), "password": "long enough", "role": "viewer"])
        return "/console/api/operators/\(try made.string("id"))/invitation"
    }

    private static func hasMails(_ browser: ConsoleBrowser) async throws -> JSONValue? {
        try await browser.send("GET", "/console/api/session")["features"]?["mails"]
    }

    @Test("Emails a new operator the console's URL, at most 20 emails per owner")
    func invitation() async throws {
        try await MailCatcher.run { catcher in
            try await TestServer.run(catcher.options()) { server in
                let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
                #expect(try await Self.hasMails(owner) == true)
                let path = try await Self.add(owner, "kim")
                #expect(try await owner.send("POST", path, ["email": "kim@m.example"]).status == 200)
                let mail = try await catcher.mail(to: "kim@m.example")
                #expect(mail.subject == "Invitation to the console of Größe")
                // Others can't open the owner's own address, 127.0.0.1.
                #expect(
                    mail.link == "http://app.example/console/start" && mail.text.contains("'kim'"), "\(mail.text)")
                #expect(!mail.text.contains("long enough"))
                let wrong: [JSONValue] = [
                    [:], ["email": 1], ["email": ""], ["email": "kim"], ["email": "k im@m.example"],
                    ["email": "kim@m.example\r\nBcc: lou@m.example"],
                    ["email": .string(String(repeating: "k", count: 400) + "@m.example")],
                ]
                for body in wrong {
                    let answer = try await owner.send("POST", path, body)
                    #expect(answer.status == 400 && answer.code == 125, "\(answer.text)")
                }
                let missing = try await owner.send(
                    "POST", "/console/api/operators/missing/invitation", ["email": "kim@m.example"])
                #expect(missing.status == 404, "\(missing.text)")
                for _ in 2...20 {
                    #expect(try await owner.send("POST", path, ["email": "kim@m.example"]).status == 200)
                }
                #expect(try await owner.send("POST", path, ["email": "kim@m.example"]).status == 429)
                let other = try await ConsoleBrowser.operatorBrowser(server, "owner")
                #expect(try await other.send("POST", path, ["email": "kim@m.example"]).status == 200)
                #expect(try catcher.mails().count == 21)
                let rows = try await owner.audit().filter { $0["fields"] == ["email"] }
                #expect(rows.filter { $0["status"] == 200 }.count == 21 && rows.contains { $0["status"] == 429 })
                try await server.execute(
                    "UPDATE \"_roost_operator_session\" SET \"confirmedAt\" = now() - interval '16 minutes'")
                #expect(try await other.send("POST", path, ["email": "kim@m.example"])["needs"] == "confirm")
            }
        }
    }

    @Test("Invites to the host that the inviting browser uses, or to publicServerURL's if that names only this machine")
    func address() async throws {
        try await MailCatcher.run { catcher in
            let rows: [(publicURL: String, host: String?, link: String)] = [
                ("https://api.example.com:8443/v1/parse", nil, "https://api.example.com:8443/console/start"),
                ("https://api.example.com/parse", "ops.example.com", "http://ops.example.com/console/start"),
                ("http://localhost:1/parse", nil, "/console/start"),
            ]
            for (publicURL, host, link) in rows {
                let options: JSONObject = [
                    "publicServerURL": .string(publicURL), "console": ["enabled": true, "hosts": ["ops.example.com"]],
                ]
                try await TestServer.run(catcher.options(options)) { server in
                    let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
                    let expected = link.hasPrefix("/") ? owner.root + link : link
                    let headers = host.map { ["Host": $0] } ?? [:]
                    let made = try await owner.send(
                        "POST", "/console/api/operators",
                        ["name": "kim", "password": "long enough", "role": "viewer"], headers: headers)
                    #expect(made.status == 201 && made["address"] == .string(expected), "\(made.text)")
                    let email = "kim@\(publicURL.utf8.count).example"
                    let sent = try await owner.send(
                        "POST", "/console/api/operators/\(try made.string("id"))/invitation",
                        ["email": .string(email)], headers: headers)
                    #expect(sent.status == 200, "\(sent.text)")
                    #expect(try await catcher.mail(to: email).link == expected)
                }
            }
        }
    }

    @Test("Audits changes of operators with names and roles, and finds entries by path")
    func audited() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let kim: JSONValue = ["name": "kim", "password": "long enough", "role": "viewer"]
            let made = try await owner.send("POST", "/console/api/operators", kim)
            let path = "/console/api/operators/\(made["id"]?.stringValue ?? "")"
            #expect(try await owner.send("PUT", path, ["role": "editor"]).status == 200)
            #expect(try await owner.send("DELETE", path).status == 200)
            let rows = try await owner.audit().prefix(3)
            #expect(rows.map { $0["method"] } == ["DELETE", "PUT", "POST"], "\(rows)")
            #expect(rows.map { $0["before"]?["name"] } == ["kim", "kim", nil], "\(rows)")
            #expect(rows.map { $0["before"]?["role"] } == ["editor", "viewer", nil], "\(rows)")
            #expect(rows.map { $0["after"]?["role"] } == [nil, "editor", "viewer"], "\(rows)")
            let found = try await owner.send("GET", "/console/api/audit?path=session")["rows"]?.arrayValue ?? []
            #expect(found.count == 1 && found.first?["path"] == "session", "\(found)")
        }
    }

    @Test("Reports why the mail server rejected an invitation, without retrying it")
    func failure() async throws {
        let port = try await FreePort.find()
        try await TestServer.run(MailCatcher.options(port: port)) { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let path = try await Self.add(owner, "kim")
            let refused = try await owner.send("POST", path, ["email": "kim@m.example"])
            #expect(refused.status == 400, "\(refused.text)")
            #expect(refused["error"]?.stringValue?.hasPrefix("The email was not sent: ") == true, "\(refused.text)")
            #expect(try await owner.send("GET", "/console/api/health")["mails"]?["failed"] == 1)
            // The email isn't queued for a retry.
            #expect(try await server.texts("SELECT count(*)::text FROM _roost_mail") == ["0"])
        }
    }

    @Test("Sends no invitation without an email adapter, or if emails are shown on the terminal")
    func withoutMails() async throws {
        let refuses: @Sendable (TestServer) async throws -> Void = { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            #expect(try await Self.hasMails(owner) == false)
            let path = try await Self.add(owner, "kim")
            let refused = try await owner.send("POST", path, ["email": "kim@m.example"])
            #expect(refused.status == 400 && refused.code == 108, "\(refused.text)")
        }
        try await TestServer.run(nil, refuses)
        try await TestServer.run(configure: { _ = $0.showMailsOnTerminal() }, refuses)
    }
}
