import Console
import Foundation
import HTTP
import JSON
import Operations
import ParseModel
import ServerConfiguration
import TestSupport
import Testing

/// The log in the console: cursor, tail, filters and redaction of secrets.
@Suite("The log in the console")
struct ConsoleLogTests {
    private static func logs(_ browser: ConsoleBrowser, _ query: String = "") async throws -> JSONValue {
        let answer = try await browser.send("GET", "/console/api/logs" + query)
        try #require(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    private static func failures(_ logs: JSONValue) -> [String] {
        (logs["lines"]?.arrayValue ?? []).compactMap {
            $0["message"] == "cloud function failed" ? $0["fields"]?["error"]?.stringValue : nil
        }
    }

    private static func write(_ text: String, _ server: TestServer) async throws {
        _ = try await server.send("POST", "/functions/fail", ["text": .string(text)], as: .master)
    }

    @Test("Returns the latest lines, then only newer ones after the cursor")
    func place() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            for text in ["one", "two"] { try await Self.write(text, server) }
            let first = try await Self.logs(browser)
            #expect(Self.failures(first) == ["one", "two"])
            #expect(first["dropped"] == 0)
            let next = try #require(first["next"]?.stringValue)
            let empty = try await Self.logs(browser, "?after=\(next)")
            // Reading the log must not add lines to it.
            #expect(empty["lines"] == [] && empty["next"]?.stringValue == next, "\(empty.text)")
            try await Self.write("three", server)
            #expect(Self.failures(try await Self.logs(browser, "?after=\(next)")) == ["three"])
            // Another process's cursor is ignored.
            #expect(Self.failures(try await Self.logs(browser, "?after=other.5")) == ["one", "two", "three"])
            let several = try await Self.logs(browser, "?after=other.5,\(next)")
            #expect(Self.failures(several) == ["three"])
            for place in ["x", "a.b", "a.-1", "a.1.2", "%00"] {
                #expect(try await browser.send("GET", "/console/api/logs?after=\(place)").status == 400, "\(place)")
            }
            #expect(try await browser.send("GET", "/console/api/logs?level=loud").status == 400)
        }
    }

    @Test("A waiting request returns when a matching line arrives")
    func tail() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let next = try #require(try await Self.logs(browser)["next"]?.stringValue)
            async let waiting = Self.logs(browser, "?after=\(next)&wait=20&text=wanted&level=error")
            for text in ["other", "the WANTED one"] { try await Self.write(text, server) }
            #expect(Self.failures(try await waiting) == ["the WANTED one"])
        }
    }

    @Test("Filters lines by level, text, function and request")
    func filters() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            _ = try await server.send("POST", "/functions/hello", ["name": "Kim"], as: .master)
            let failed = try await server.send("POST", "/functions/fail", ["text": "gone wrong"], as: .master)
            let id = try #require(failed.headers["x-request-id"])
            let ofRequest = try await Self.logs(browser, "?request=\(id)")
            #expect(ofRequest["lines"]?.arrayValue?.count == 2, "\(ofRequest.text)")
            let ofFunction = try await Self.logs(browser, "?function=hello")["lines"]?.arrayValue ?? []
            #expect(ofFunction.count == 2, "\(ofFunction)")
            let errors = try await Self.logs(browser, "?level=error")["lines"]?.arrayValue ?? []
            #expect(!errors.isEmpty && errors.allSatisfy { $0["level"] == "error" })
            #expect(Self.failures(try await Self.logs(browser, "?text=GONE")) == ["gone wrong"])
            #expect(try await Self.logs(browser, "?text=nowhere")["lines"] == [])
            #expect(try await server.send("GET", "/classes/Song/none").status == 404)
            let missing = try await Self.logs(browser, "?text=404")["lines"]?.arrayValue ?? []
            #expect(missing.map { $0["fields"]?["path"] } == ["/parse/classes/Song/none"], "\(missing)")
            #expect(missing.first?["fields"]?["code"] == 101)
            let failures = try await Self.logs(browser, "?level=failed")["lines"]?.arrayValue ?? []
            #expect(failures.contains { $0["fields"]?["path"] == "/parse/classes/Song/none" }, "\(failures)")
            #expect(failures.allSatisfy { ($0["fields"]?["status"]?.numberValue ?? 0) >= 400 }, "\(failures)")
            let day = try #require(missing.first?["at"]?.stringValue?.prefix(10))
            #expect(try await Self.logs(browser, "?text=\(day)")["lines"] == [])
        }
    }

    @Test("Omits the console's own requests unless requested, and never logs its polls")
    func own() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            _ = try await server.create("Song", ["title": "a"])
            let request = try await browser.parse("GET", "/classes/Song").headers["x-request-id"]
            _ = try await browser.parse("GET", "/classes/Song?limit=7", headers: ["X-Roost-Poll": "1"])
            _ = try await browser.send("GET", "/console/api/counts", headers: ["X-Roost-Poll": "1"])
            _ = try await browser.send("GET", "/console/api/session", headers: ["X-Roost-Poll": "1"])
            func paths(_ query: String) async throws -> [String] {
                (try await Self.logs(browser, query)["lines"]?.arrayValue ?? []).compactMap {
                    $0["fields"]?["path"]?.stringValue
                }
            }
            let shown = try await paths("")
            #expect(shown.contains("/parse/classes/Song") && !shown.contains { $0.hasPrefix("/console/") }, "\(shown)")
            let all = try await paths("?console=true")
            #expect(all.filter { $0 == "/console/api/parse/classes/Song" }.count == 1, "\(all)")
            #expect(!all.contains("/console/api/counts"))
            // Two operators have signed in.
            #expect(all.filter { $0 == "/console/api/session" }.count == 2, "\(all)")
            let id = try #require(request)
            #expect(try await paths("?request=\(id)").count == 1)
            // Writes are logged, whatever headers the page sends.
            _ = try await browser.parse("POST", "/classes/Song", ["title": "b"], headers: ["X-Roost-Poll": "1"])
            #expect(try await paths("?console=true").filter { $0 == "/console/api/parse/classes/Song" }.count == 2)
        }
    }

    @Test("Lines have no empty fields, and errors appear with their message and code")
    func fields() throws {
        let log = LogRing()
        let logger = log.recording(UnwrittenLog.logger())
        let errors: [any Error] = [
            ParseError(ParseError.timeout, "Too slow."), HTTPError(status: 503, message: "No answer."),
            ServiceUnavailable("Try again."),
        ]
        for error in errors { logger.error("failed", metadata: ["table": "", "error": "\(error)"]) }
        let lines = log.lines(from: 0, onlyErrors: false).map(\.json)
        #expect(lines.allSatisfy { $0["table"] == nil })
        let texts = lines.compactMap { $0["error"]?.stringValue }
        #expect(texts == ["Too slow. (code 124)", "No answer.", "Try again."])
    }

    @Test("A log message with line breaks stays one line")
    func forged() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let text = "boom\n2026-01-01T00:00:00.000Z error roost: all is lost\u{202E}\u{7}"
            try await Self.write(text, server)
            let lines = try await Self.logs(browser, "?text=boom")["lines"]?.arrayValue ?? []
            #expect(lines.count == 1, "\(lines)")
            #expect(lines.first?["fields"]?["error"]?.stringValue?.contains("all is lost") == true)
        }
    }

    @Test("Redacts secrets from lines and searches")
    func secrets() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let token = "r:0123456789abcdef0123456789abcdef"
            for text in [TestServer.masterKey, token] {
                try await Self.write("it has \(text) in it", server)
                let all = try await browser.send("GET", "/console/api/logs")
                #expect(!all.text.contains(text), "\(all.text)")
                let query = try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                let found = try await Self.logs(browser, "?level=error&text=\(query)")
                #expect(found["lines"] == [], "\(found.text)")
            }
        }
    }

    @Test(
        "Redacts text that looks like a secret and keeps other text",
        arguments: [
            ("r:0123456789abcdef", "r:[hidden]"), ("postgres://kim:hunter2@db/app", "postgres://[hidden]@db/app"),
            ("Authorization: Bearer abcdef123456", "Authorization: Bearer [hidden]"),
            ("login?password=hunter2&x=1", "login?password=[hidden]&x=1"),
            ("{\"apiKey\":\"k1\"}", "{\"apiKey\":\"[hidden]\"}"),
            ("{ token: 'abc', n: 1 }", "{ token: '[hidden]', n: 1 }"),
            ("$2b$10$abcdefghijklmnopqrstuuabcdefghijklmnopqrstuvwxyzabcdef", "[hidden]"),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "[hidden]"),
            ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----!", "[hidden]!"),
            ("the key of the SERVERKEY", "the key of the [hidden]"),
            ("no access token: timed out", "no access token: timed out"),
            ("user 12:30 saved Song/abc", "user 12:30 saved Song/abc"),
            ("key SERVERKEY\u{301}, SERVERKEY", "key [hidden]\u{301}, [hidden]"),
            ("key RENEWEDKEY", "key [hidden]"),
            ("http://a.example/b@c", "http://a.example/b@c"),
        ])
    func texts(text: String, expected: String) {
        var configuration = Configuration()
        configuration.masterKey = "SERVERKEY"
        configuration.renewedMasterKey = RenewedKey("RENEWEDKEY")
        let secrets = SecretTexts(configuration)
        #expect(secrets.removed(from: text) == expected)
        #expect(
            secrets.removed(from: ["sessionToken": "x", "user": "y"]) == ["sessionToken": "[hidden]", "user": "y"])
    }

    @Test("Shows no part of a key where a long text is truncated")
    func cut() {
        var configuration = Configuration()
        configuration.masterKey = "0123456789abcdefghijklmnopqrstuvwxyz"
        let secrets = SecretTexts(configuration)
        for start in stride(from: 900, through: 1_100, by: 1) {
            let text = configuration.masterKey + String(repeating: "-", count: start)
            let shown = secrets.removed(from: text + configuration.masterKey + String(repeating: "-", count: 5_000))
            #expect(!shown.contains("0123"), "\(start)")
        }
    }

    @Test("Redacts long hostile strings quickly", .timeLimit(.minutes(1)))
    func slow() {
        let secrets = SecretTexts(Configuration())
        for text in ["token", "eyJ", "://", "-----BEGIN PRIVATE KEY-----", "basic ", "r:a", "password= "] {
            let line = String(repeating: text, count: 3_900 / text.utf8.count) + ":"
            for _ in 0..<100 { _ = secrets.removed(from: line) }
            #expect(secrets.removed(from: String(repeating: text, count: 1_000_000)).utf8.count < 5_000)
        }
        // A character may have any number of combining marks.
        #expect(secrets.removed(from: "a" + String(repeating: "\u{301}", count: 1_000_000)).utf8.count < 5_000)
    }

    @Test("Only developers can read the log, in the console and through the REST API")
    func roles() async throws {
        try await ConsoleStage.run { server in
            for role in ["viewer", "editor"] {
                let browser = try await ConsoleBrowser.operatorBrowser(server, role)
                #expect(try await browser.send("GET", "/console/api/logs").status == 403)
                #expect(try await browser.parse("GET", "/scriptlog").status == 403)
            }
            let developer = try await ConsoleBrowser.operatorBrowser(server, "developer")
            #expect(try await developer.parse("GET", "/scriptlog").status == 200)
        }
    }
}
