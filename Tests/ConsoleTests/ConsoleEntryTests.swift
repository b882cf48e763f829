import Console
import Foundation
import JSON
import TestSupport
import Testing

@Suite("Opening the console and signing in")
struct ConsoleEntryTests {
    private static let page = ["Accept": "text/html,application/xhtml+xml"]

    @Test("Redirects local browsers from / to the console, but neither programs nor other origins")
    func entry() async throws {
        try await TestServer.run { server in
            let browser = ConsoleBrowser(server)
            let led = try await browser.send("GET", "/", headers: Self.page)
            #expect(led.status == 302)
            #expect(led.headers["location"] == "/console/")
            let other = try await browser.send("GET", "/")
            #expect(other.status == 404)
            #expect(other.json == ["error": "Cannot GET /"])
            #expect(try await browser.send("POST", "/", headers: Self.page).status == 404)
            #expect(!led.headers.keys.contains { $0.hasPrefix("access-control") })
            // A page of another origin gets the same response as without a console.
            for foreign in [["Origin": "http://evil.example"], ["Sec-Fetch-Site": "cross-site"]] {
                let answer = try await browser.send(
                    "GET", "/", headers: Self.page.merging(foreign) { $1 })
                #expect(answer.json == other.json && answer.status == 404, "\(foreign)")
            }
            let typed = ["Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"].merging(Self.page) { $1 }
            #expect(try await browser.send("GET", "/", headers: typed).status == 302)
            #expect(try await browser.send("GET", "/console").headers["location"] == "/console/")
        }
    }

    private static func ownTables(_ server: TestServer) async throws -> [String] {
        try await server.texts(
            "SELECT relname::text FROM pg_class WHERE relname LIKE '\\_roost\\_%' AND relkind = 'r' "
                + "AND relname <> '_roost_advice' ORDER BY 1")
    }

    @Test("Creates the console's tables only at the first sign-in, even by two processes at once")
    func tables() async throws {
        try await TestServer.run { server in
            let browser = ConsoleBrowser(server)
            let song = try await server.create("Song", ["title": "a"])
            _ = try await server.send("GET", "/classes/Song?where=%7B%22title%22%3A%22a%22%7D")
            _ = try await server.send("DELETE", "/classes/Song/\(song)", as: .master)
            #expect(try await browser.send("GET", "/console/").status == 200)
            #expect(try await browser.send("GET", "/console/api/session")["first"] == true)
            var forged = browser
            let port = try #require(URL(string: server.url)?.port)
            forged.token = String(repeating: "0", count: 64)
            forged.cookie = "roost_console_\(port)=\(String(repeating: "0", count: 64))"
            #expect(try await forged.send("GET", "/console/api/session").status == 401)
            #expect(try await Self.ownTables(server).isEmpty)
            try await server.alongside { other in
                // Two processes create the tables concurrently.
                async let here = ConsoleBrowser(server, ConsoleBrowser.masterKey)
                async let there = ConsoleBrowser(other, ConsoleBrowser.masterKey)
                let (first, second) = (try await here, try await there)
                #expect(try await first.audit().count == 2)
                #expect(try await second.send("GET", "/console/api/trash").status == 200)
            }
            #expect(
                try await Self.ownTables(server) == [
                    "_roost_audit", "_roost_operator", "_roost_operator_session", "_roost_trash", "_roost_view",
                ])
        }
    }

    @Test("Serves the page with a strict content security policy, caching and no CORS")
    func shell() async throws {
        try await TestServer.run { server in
            let browser = ConsoleBrowser(server)
            let answer = try await browser.send("GET", "/console/data/Track")
            #expect(answer.status == 200)
            #expect(answer.headers["content-type"] == "text/html; charset=utf-8")
            #expect(answer.headers["cache-control"] == "no-cache")
            let policy = try #require(answer.headers["content-security-policy"])
            #expect(policy.contains("script-src \(browser.root)/console/a/;"))
            #expect(policy.contains("require-trusted-types-for 'script'; trusted-types 'none'"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            #expect(answer.headers["x-frame-options"] == "DENY")
            #expect(answer.headers["referrer-policy"] == "no-referrer")
            #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control") })
            let again = try await browser.send(
                "GET", "/console/data/Track", headers: ["If-None-Match": answer.headers["etag"] ?? ""])
            #expect(again.status == 304)

            let script = try #require(answer.text.firstMatch(of: /src="([^"]+)"/)).1
            let plain = try await browser.send("GET", String(script))
            #expect(plain.status == 200)
            #expect(plain.headers["content-type"] == "text/javascript; charset=utf-8")
            #expect(plain.headers["cache-control"] == "public, max-age=31536000, immutable")
            #expect(try await browser.send("GET", "/console/a/0000/main.js").status == 404)
            #expect(try await browser.send("GET", String(script) + "x").status == 404)
            #expect(try await browser.send("POST", "/console/").status == 405)
            let options = try await browser.send("OPTIONS", "/console/api/session", headers: ["Origin": "http://evil"])
            #expect(options.status == 405)
            #expect(!options.headers.keys.contains { $0.hasPrefix("access-control") })
        }
    }

    @Test("Explains to browsers at allowed addresses that plain HTTP isn't allowed")
    func plainHTTP() async throws {
        let options: JSONObject = ["console": ["enabled": true, "addresses": ["10.0.0.0/8"]], "trustProxy": true]
        try await TestServer.run(options) { server in
            for (address, isExplained) in [("10.1.1.1", true), ("11.1.1.1", false)] {
                let page = try await ConsoleBrowser(server).send(
                    "GET", "/console/", headers: ["X-Forwarded-For": address, "Accept": "text/html"])
                #expect(
                    page.status == 404 && page.text.contains("\"allowPlainHTTP\": true") == isExplained, "\(page.text)")
            }
        }
    }

    @Test("Rejects unknown Host headers with 421")
    func otherHost() async throws {
        try await TestServer.run { server in
            let browser = ConsoleBrowser(server)
            for path in ["/console/", "/console/api/session"] {
                let answer = try await browser.send("GET", path, headers: ["Host": "evil.example"])
                #expect(answer.status == 421 && answer.text.contains("\"evil.example\""), "\(answer.text)")
            }
            let inside = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            #expect(
                try await inside.send("GET", "/console/api/session", headers: ["Host": "evil.example"]).status == 421)
        }
    }

    @Test(
        "Responds 404 to requests through a proxy, explains why to browsers and logs it once",
        arguments: ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via", "x-real-ip"],
        [[:], ["console": ["enabled": true]]] as [JSONObject])
    func proxy(field: String, options: JSONObject) async throws {
        try await TestServer.run(options, logger: UnwrittenLog.logger()) { server in
            let answer = try await ConsoleBrowser(server).send("GET", "/console/", headers: [field: "127.0.0.1"])
            #expect(answer.status == 404 && answer.json == ["error": "Cannot GET /console/"])
            for path in ["/console/data", "/console/"] {
                let page = try await ConsoleBrowser(server).send(
                    "GET", path, headers: [field: "127.0.0.1", "Accept": "text/html"])
                #expect(page.status == 404 && page.text.contains("The console is open to this machine only"))
                #expect(page.text.contains("\"enabled\": true") && !page.text.contains("<script"))
                #expect(page.headers["set-cookie"] == nil && page.headers["access-control-allow-origin"] == nil)
            }
            for (method, path) in [("POST", "/console/"), ("GET", "/"), ("GET", "/consoles")] {
                let other = try await ConsoleBrowser(server).send(
                    method, path, headers: [field: "127.0.0.1", "Accept": "text/html"])
                #expect(other.status == 404 && other.json["error"] != nil, "\(method) \(path) \(other.text)")
            }
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let lines = try await owner.send("GET", "/console/api/logs?text=denied")["lines"]?.arrayValue ?? []
            #expect(lines.count == 1 && lines.first?["fields"]?["reason"] == "it came through a proxy", "\(lines)")
        }
    }

    @Test("A ticket opens one session and can't be reused")
    func ticket() async throws {
        try await TestServer.run { server in
            let ticket = try await server.consoleTicket()
            let browser = try await ConsoleBrowser(server, ["ticket": .string(ticket)])
            let session = try await browser.send("GET", "/console/api/session")
            #expect(session["operator"]?["role"] == "owner")
            let again = try await ConsoleBrowser(server).send(
                "POST", "/console/api/session", ["ticket": .string(ticket)])
            #expect(again.status == 401 && again["error"]?.stringValue?.hasPrefix("This link was already used") == true)
            // A ticket can't replace the token of a session.
            var thief = ConsoleBrowser(server)
            thief.token = try await server.consoleTicket()
            thief.cookie = browser.cookie
            #expect(try await thief.send("GET", "/console/api/session").status == 401)
        }
    }

    @Test("Throttles invalid tickets without locking out a valid one")
    func wrongTickets() async throws {
        try await TestServer.run { server in
            @Sendable func signIn(_ ticket: String) async throws -> Int {
                try await ConsoleBrowser(server).send(
                    "POST", "/console/api/session", ["ticket": .string(ticket)]
                ).status
            }
            let begin = ContinuousClock.now
            for number in 0..<3 {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for other in 0..<5 {
                        let end = String(10 * number + other + 10)
                        group.addTask { try await signIn(String(repeating: "0", count: 62) + end) }
                    }
                    for try await status in group { #expect([401, 429].contains(status)) }
                }
            }
            #expect(ContinuousClock.now - begin >= .milliseconds(1_900))
            #expect(try await signIn(server.consoleTicket()) == 200)
        }
    }

    @Test("Rejects wrong names, passwords and keys with the same response")
    func names() async throws {
        try await TestServer.run { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            let before = try await ConsoleBrowser(server).send("GET", "/console/api/session")
            #expect(before.status == 401)
            #expect(before["first"] == true)
            #expect(before["ways"] == ["operator", "masterKey"])
            let made = try await owner.send(
                "POST", "/console/api/operators", ["name": "kim", "password": "right words", "role": "developer"])
            #expect(made.status == 201)
            let kim = try await ConsoleBrowser(server, ["name": "kim", "password": "right words"])
            #expect(try await kim.send("GET", "/console/api/session")["operator"]?["name"] == "kim")
            var answers: [JSONValue] = []
            for body: JSONValue in [
                ["name": "kim", "password": "wrong words"], ["name": "nobody", "password": "right words"],
                ["masterKey": "wrong"], [:], ["name": "kim"], ["masterKey": ""],
            ] {
                let answer = try await ConsoleBrowser(server).send("POST", "/console/api/session", body)
                #expect(answer.status == 401)
                var object = answer.json.objectValue ?? [:]
                object["requestId"] = nil
                answers.append(.object(object))
            }
            #expect(Set(answers.map { "\($0)" }).count == 1)
        }
    }

    /// Starts a server that trusts a proxy, with an operator kim. `body` receives a function that signs in from an
    /// address.
    private static func runBehindProxy(
        passwordCost: Int = 4,
        _ body:
            @escaping @Sendable (@escaping @Sendable (JSONValue, String) async throws -> TestAnswer) async throws ->
            Void
    ) async throws {
        let options: JSONObject = [
            "console": ["enabled": true, "addresses": ["203.0.113.0/24"], "allowPlainHTTP": true],
            "trustProxy": ["127.0.0.1"],
        ]
        try await TestServer.run(options, passwordCost: passwordCost) { server in
            @Sendable func signIn(_ ways: JSONValue, from address: String) async throws -> TestAnswer {
                try await ConsoleBrowser(server).send(
                    "POST", "/console/api/session", ways, headers: ["X-Forwarded-For": address])
            }
            var owner = ConsoleBrowser(server)
            let signedIn = try await signIn(["ticket": .string(server.consoleTicket())], from: "203.0.113.1")
            owner.token = try #require(signedIn["token"]?.stringValue)
            owner.cookie = String(try #require(signedIn.headers["set-cookie"]).prefix { $0 != ";" })
            let made = try await owner.send(
                "POST", "/console/api/operators", ["name": "kim", "password": "right words", "role": "viewer"],
                headers: ["X-Forwarded-For": "203.0.113.1"])
            try #require(made.status == 201, "\(made.text)")
            try await body(signIn)
        }
    }

    @Test("Failed log-ins lock out only the address that tried")
    func attemptsOfOthers() async throws {
        try await Self.runBehindProxy { signIn in
            for number in 1...150 {
                let wrong = try await signIn(["name": "kim", "password": "wrong"], "203.0.113.7")
                #expect(wrong.status == (number > 10 ? 429 : 401))
            }
            let right = try await signIn(["name": "kim", "password": "right words"], "203.0.113.8")
            #expect(right.status == 200, "\(right.text)")
        }
    }

    @Test("Rejecting an unknown name takes as long as rejecting a wrong password")
    func timeOfNames() async throws {
        try await Self.runBehindProxy(passwordCost: 10) { signIn in
            func time(_ name: JSONValue, from address: Int) async throws -> Duration {
                let start = ContinuousClock.now
                let answer = try await signIn(["name": name, "password": "wrong words"], "203.0.113.\(address)")
                #expect(answer.status == 401, "\(answer.text)")
                return .now - start
            }
            // Other tests may slow down any attempt. An address has ten.
            var (known, unknown) = (Duration.seconds(60), Duration.seconds(60))
            for address in 2..<12 {
                for _ in 0..<4 {
                    known = min(known, try await time("kim", from: address))
                    unknown = min(unknown, try await time("nobody", from: address))
                }
                if (0.5...2).contains(unknown / known) { break }
            }
            #expect((0.5...2).contains(unknown / known), "\(unknown), \(known)")
        }
    }

    @Test("Throttles an address after ten failed log-ins, except for valid keys and tickets")
    func attempts() async throws {
        try await TestServer.run { server in
            _ = try await ConsoleBrowser.operatorBrowser(server, "viewer")
            let browser = ConsoleBrowser(server)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<11 {
                    group.addTask {
                        try await browser.send("POST", "/console/api/session", ["name": "kim", "password": "wrong"])
                            .status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 401 }.count == 10)
            #expect(statuses.filter { $0 == 429 }.count == 1)
            let wrong: [JSONValue] = [
                ["masterKey": "wrong"], ["ticket": .string(String(repeating: "0", count: 64))], [:],
            ]
            for body in wrong {
                let answer = try await browser.send("POST", "/console/api/session", body)
                #expect(answer.status == 429)
                #expect(Int(answer.headers["retry-after"] ?? "") ?? 0 > 0)
            }
            let ticket = try await server.consoleTicket()
            for right: JSONValue in [ConsoleBrowser.masterKey, ["ticket": .string(ticket)]] {
                let answer = try await browser.send("POST", "/console/api/session", right)
                #expect(answer.status == 200, "wrong tries keep no right secret out: \(answer.text)")
            }
        }
    }

    @Test("Accepts the master key only from masterKeyIps and never returns it; the read-only key only reads")
    func masterKey() async throws {
        try await TestServer.run(["masterKeyIps": ["10.0.0.1"]]) { server in
            let answer = try await ConsoleBrowser(server).send("POST", "/console/api/session", ConsoleBrowser.masterKey)
            #expect(answer.status == 401)
        }
        try await TestServer.run(["readOnlyMasterKey": "only reads"]) { server in
            let owner = try await ConsoleBrowser(server, ConsoleBrowser.masterKey)
            for path in ["/console/api/session", "/console/", "/console/api/audit"] {
                #expect(try await !owner.send("GET", path).text.contains(TestServer.masterKey))
            }
            let viewer = try await ConsoleBrowser(server, ["masterKey": "only reads"])
            #expect(try await viewer.send("GET", "/console/api/session")["operator"]?["role"] == "viewer")
            let written = try await viewer.parse("POST", "/classes/Song", ["title": "x"])
            #expect(written.status == 403)
        }
    }

    @Test("None of 2,048 wrong tickets opens a session, and the printed ticket still does")
    func guessedTickets() async throws {
        try await TestServer.run(["console": ["signIn": "thisMachine"]]) { server in
            let ticket = try await server.consoleTicket()
            let statuses = try await concurrently(2_048) { number in
                let wrong = String(number + 1, radix: 16)
                return try await ConsoleBrowser(server).send(
                    "POST", "/console/api/session",
                    ["ticket": .string(String(repeating: "0", count: 64 - wrong.utf8.count) + wrong)]
                ).status
            }
            #expect(Set(statuses).isSubset(of: [401, 429, 503]), "\(Set(statuses))")
            _ = try await ConsoleBrowser(server, ["ticket": .string(ticket)])
        }
    }

    @Test("signIn thisMachine requires a ticket, and such sessions need no secret to confirm")
    func development() async throws {
        try await TestServer.run(["console": ["signIn": "thisMachine"]]) { server in
            let before = try await ConsoleBrowser(server).send("GET", "/console/api/session")
            #expect(before.status == 401)
            #expect(before["ways"] == ["operator", "masterKey"])
            #expect(try await ConsoleBrowser(server).send("POST", "/console/api/session", [:]).status == 401)
            let ticket = try await server.consoleTicket()
            let browser = try await ConsoleBrowser(server, ["ticket": .string(ticket)])
            #expect(try await browser.parse("GET", "/classes/_User").status == 200)
            #expect(try await browser.send("POST", "/console/api/confirm", [:]).status == 200)
            #expect(try await ConsoleBrowser(server).parse("GET", "/classes/_User").status == 401)
            for headers in [
                ["Host": "evil.example"], ["Origin": "http://evil.example"], ["Sec-Fetch-Site": "same-site"],
                ["X-Forwarded-For": "127.0.0.1"],
            ] {
                let answer = try await ConsoleBrowser(server).send(
                    "POST", "/console/api/session", [:], headers: headers)
                #expect([403, 404, 421].contains(answer.status), "\(headers)")
            }
        }
    }
}
