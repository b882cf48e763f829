import App
import JSON
import Roost
import Synchronization
import TestSupport
import Testing

@Suite("Cloud code in the console")
struct ConsoleCloudTests {
    private static func named(_ name: String, _ list: JSONValue?) -> JSONValue? {
        list?.arrayValue?.first { $0["name"]?.stringValue == name }
    }

    @Test("Lists functions, triggers, jobs and hosts with validators and call statistics")
    func overview() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            for _ in 0..<3 { _ = try await server.send("POST", "/functions/hello", [:], as: .master) }
            _ = try await server.send("POST", "/functions/fail", [:], as: .master)
            let answer = try await browser.send("GET", "/console/api/cloud")
            try #require(answer.status == 200, "\(answer.text)")
            let hello = Self.named("hello", answer["functions"])
            #expect(hello?["calls"] == 3 && hello?["errors"] == 0 && hello?["host"] == "swift", "\(answer.text)")
            #expect((hello?["p50"]?.numberValue ?? -1) >= 0 && hello?["last"]?.stringValue != nil)
            #expect(Self.named("fail", answer["functions"])?["errors"] == 1)
            #expect(Self.named("guarded", answer["functions"])?["validator"]?["requireUser"] == true)
            #expect(Self.named("tidy", answer["jobs"])?["isExclusive"] == false)
            let trigger = answer["triggers"]?.arrayValue?.first { $0["className"] == "Triggered" }
            #expect(trigger?["event"] == "beforeSave" && trigger?["calls"] == 0)
            #expect(answer["hosts"]?.arrayValue?.contains { $0["kind"] == "swift" && $0["state"] == "ready" } == true)
            func hasWebhooks(_ answer: TestAnswer) -> Bool? {
                answer["hosts"]?.arrayValue?.contains { $0["kind"] == "webhook" }
            }
            #expect(hasWebhooks(answer) == false, "\(answer.text)")
            let hook: JSONValue = ["functionName": "hooked", "url": "http://127.0.0.1:9/hook"]
            _ = try await server.send("POST", "/hooks/functions", hook, as: .master).succeeded()
            #expect(hasWebhooks(try await browser.send("GET", "/console/api/cloud")) == true)
        }
    }

    @Test("Calls functions with the master key, as a user or anonymously, and records which in the audit")
    func callers() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let user = try await server.send("POST", "/users", ["username": "kim", "password": "hush hush"])
            let id = try #require(user["objectId"]?.stringValue)
            func call(_ name: String, as viewAs: String?) async throws -> TestAnswer {
                try await browser.parse(
                    "POST", "/functions/\(name)", [:], headers: viewAs.map { ["X-Roost-View-As": $0] } ?? [:])
            }
            let asMaster = try await call("hello", as: nil)
            #expect(asMaster["result"]?["isMaster"] == true, "\(asMaster.text)")
            let asKim = try await call("hello", as: id)
            #expect(asKim["result"]?["user"] == "kim" && asKim["result"]?["isMaster"] == false, "\(asKim.text)")
            let asNobody = try await call("hello", as: "anonymous")
            #expect(asNobody["result"]?["user"] == .null && asNobody["result"]?["isMaster"] == false)
            #expect(try await call("guarded", as: "anonymous").status != 200)
            #expect(try await call("guarded", as: id).status == 200)
            #expect(try await call("hello", as: "nobodyAtAll").status == 404)
            let rows = try await browser.audit().filter { $0["path"] == "functions/hello" }
            #expect(rows.contains { $0["after"]?["viewAs"]?.stringValue == id }, "\(rows)")
            // Other requests can't be sent as a user.
            for (method, path) in [
                ("POST", "/classes/Song"), ("PUT", "/functions/hello"), ("POST", "/jobs/tidy"), ("POST", "/batch"),
                ("POST", "/functions/hello/more"),
            ] {
                let answer = try await browser.parse(method, path, [:], headers: ["X-Roost-View-As": id])
                #expect(answer.status == 400, "\(method) \(path) \(answer.text)")
            }
        }
    }

    @Test("Hides secrets in the parameters of functions and jobs from the audit")
    func secretParameters() async throws {
        try await ConsoleStage.run { server in
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let parameters: JSONValue = [
                "name": "kim", "token": "hush 1", "list": [["api_key": "hush 2", "Pass-Wd": "hush 3"]],
                "texts": ["r:0123456789abcdef", "password=hush4", #"{"secret":"hush5"}"#],
                "key": .string("is \(TestServer.masterKey)"),
            ]
            for path in ["functions/hello", "jobs/tidy"] {
                _ = try await browser.parse("POST", "/\(path)", parameters).succeeded()
                let row = try #require(try await browser.audit().first { $0["path"]?.stringValue == path })
                #expect(row["after"]?["name"] == "kim", "\(row.text)")
                for secret in ["hush", "0123456789abcdef", TestServer.masterKey] {
                    #expect(!row.text.contains(secret), "\(row.text)")
                }
            }
        }
    }

    private final class Runs: Sendable {
        private let count = Mutex(0)

        var number: Int { count.withLock { $0 } }

        func note() { count.withLock { $0 += 1 } }
    }

    @Test("Viewing as a user runs no log-in triggers and creates no session")
    func viewsRunNoTriggers() async throws {
        let (cloud, runs) = (Cloud(), Runs())
        cloud.beforeLogin { _ in runs.note() }
        cloud.afterLogin { _ in runs.note() }
        cloud.afterLogout { _ in runs.note() }
        var extensions = ServerExtensions()
        extensions.cloudHosts = [SwiftHost(cloud, logger: TestServer.quietLogger)]
        try await TestServer.run(extensions: extensions) { server in
            let (user, _) = try await server.signUp("kim")
            _ = try await server.create("Song", ["title": "one"])
            let browser = try await ConsoleBrowser.operatorBrowser(server, "developer")
            let before = runs.number
            let sessions = try await server.texts("SELECT count(*)::text FROM \"_Session\"")
            for viewAs in [user, "anonymous"] {
                let seen = try await browser.parse("GET", "/classes/Song", headers: ["X-Roost-View-As": viewAs])
                #expect(seen.results.count == 1, "\(seen.text)")
            }
            #expect(runs.number == before)
            let after = try await server.texts("SELECT count(*)::text FROM \"_Session\"")
            #expect(after == sessions)
            // At least some of the triggers do run.
            _ = try await server.send("GET", "/login?username=kim&password=secret")
            #expect(runs.number > before)
        }
    }

    @Test("Viewers and editors can't list, call or schedule cloud code")
    func roles() async throws {
        try await ConsoleStage.run { server in
            for role in ["viewer", "editor"] {
                let browser = try await ConsoleBrowser.operatorBrowser(server, role)
                #expect(try await browser.send("GET", "/console/api/cloud").status == 403)
                for (method, path) in [
                    ("POST", "/functions/hello"), ("POST", "/jobs/tidy"), ("POST", "/cloud_code/jobs"),
                    ("POST", "/hooks/functions"), ("POST", "/push"),
                ] {
                    #expect(try await browser.parse(method, path, [:]).status == 403, "\(role) \(path)")
                    let asNobody = try await browser.parse(
                        method, path, [:], headers: ["X-Roost-View-As": "anonymous"])
                    #expect([400, 403].contains(asNobody.status), "\(role) \(path)")
                }
            }
        }
    }
}
