import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

@Suite("Request tracing")
struct TracingTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(trace)-00f067aa0ba902b7-01"

    private static func options(_ collector: SpanCollector, _ more: JSONObject = [:]) -> JSONObject {
        let usual: JSONObject = [
            "tracingEndpoint": .string(collector.address), "tracingHeaders": "Authorization=Bearer%20key",
            "tracingSampler": "parentbased_always_on",
        ]
        return usual.merging(more) { $1 }
    }

    @Test("A save and its beforeSave webhook form one trace, whose spans contain no secrets")
    func tree() async throws {
        try await SpanCollector.run { collector in
            try await WebhookServer.run { hooks in
                hooks.on("before") { _ in .success([:]) }
                try await TestServer.run(Self.options(collector, ["trustProxy": "loopback"])) { server in
                    _ = try await server.send(
                        "POST", "/hooks/triggers",
                        ["className": "Song", "triggerName": "beforeSave", "url": .string(hooks.url("before"))],
                        as: .master)
                    let answer = try await server.send(
                        "POST", "/classes/Song?secret=query", ["title": "secret"],
                        headers: ["traceparent": Self.parent, "tracestate": "a=1"])
                    #expect(answer.status == 201)
                    let header = hooks.calls("before").first?.headers["traceparent"] ?? ""
                    #expect(header.hasPrefix("00-\(Self.trace)-"))
                    let haveCome = try await eventually {
                        collector.spans.contains { $0["traceId"] == .string(Self.trace) && $0["kind"] == 2 }
                    }
                    #expect(haveCome)
                    let spans = collector.spans.filter { $0["traceId"] == .string(Self.trace) }
                    let root = try #require(spans.first { $0["kind"] == 2 })
                    #expect(root["name"] == "POST /classes/{className}")
                    #expect(root["parentSpanId"] == "00f067aa0ba902b7")
                    #expect(root["traceState"] == "a=1")
                    #expect(root["authorization"] == "Bearer key")
                    #expect(root["attributes"]?["http.response.status_code"] == 201)
                    #expect(root["attributes"]?["url.path"] == "/parse/classes/Song")
                    #expect(root["attributes"]?["roost.request_id"] == .string(answer.headers["x-request-id"] ?? ""))
                    for name in ["beforeSave Song", "create Song"] {
                        let child = try #require(spans.first { $0["name"] == .string(name) }, "\(name)")
                        #expect(child["parentSpanId"] == root["spanId"])
                        #expect(child["start"]?.numberValue ?? 0 >= root["start"]?.numberValue ?? .infinity)
                        #expect(child["end"]?.numberValue ?? .infinity <= root["end"]?.numberValue ?? 0)
                    }
                    #expect(!JSONValue.array(spans).text.contains("secret"))
                }
            }
        }
    }

    @Test("Links to an untrusted client's trace instead of continuing it, and logs the new trace id")
    func untrusted() async throws {
        let lines = LogLines()
        try await SpanCollector.run { collector in
            try await TestServer.run(Self.options(collector), logger: lines.logger) { server in
                _ = try await server.send("GET", "/classes/Song", headers: ["traceparent": Self.parent])
                let haveCome = try await eventually {
                    collector.spans.contains { $0["links"]?.arrayValue?.first == .string(Self.trace) }
                }
                #expect(haveCome)
                let span = collector.spans.first { $0["links"]?.arrayValue?.first == .string(Self.trace) }
                #expect(span?["traceId"] != .string(Self.trace))
                #expect(lines.all.contains { $0.contains("trace_id=\(span?["traceId"]?.stringValue ?? "?")") })
            }
        }
    }

    @Test("tracingKeepSlow traces slow unsampled requests, unless the caller chose not to sample them")
    func slow() async throws {
        try await SpanCollector.run { collector in
            let more: JSONObject = [
                "tracingSampler": "parentbased_traceidratio", "tracingSamplerArgument": 0, "tracingKeepSlow": true,
                "slowRequest": 1, "trustProxy": "loopback",
            ]
            try await TestServer.run(Self.options(collector, more)) { server in
                // Hashing a password takes longer than a millisecond.
                for (name, parent) in [("untraced", Self.parent.dropLast() + "0"), ("slow", "")] {
                    let answer = try await server.send(
                        "POST", "/users", ["username": .string(name), "password": "a"],
                        headers: parent.isEmpty ? [:] : ["traceparent": String(parent)])
                    #expect(answer.status == 201)
                }
                let haveCome = try await eventually {
                    collector.spans.contains { $0["name"] == "POST /users" }
                }
                #expect(haveCome)
                #expect(collector.spans.contains { $0["kind"] == 3 })
            }
            #expect(collector.spans.count { $0["name"] == "POST /users" } == 1)
            #expect(!collector.spans.contains { $0["traceId"] == .string(Self.trace) })
        }
        try await SpanCollector.run { collector in
            let more: JSONObject = [
                "tracingSampler": "always_off", "tracingKeepSlow": true, "slowRequest": 86_400_000,
            ]
            try await TestServer.run(Self.options(collector, more)) { server in
                let answer = try await server.send("POST", "/users", ["username": "a", "password": "a"])
                #expect(answer.status == 201)
            }
            #expect(collector.spans.isEmpty)
        }
    }

    @Test("Retries spans that a busy collector rejects, and sends the remaining ones at shutdown")
    func busy() async throws {
        try await SpanCollector.run { collector in
            collector.setBusy(true)
            try await TestServer.run(Self.options(collector)) { server in
                let answer = try await server.send("GET", "/classes/Song")
                #expect(answer.status == 200)
                let isRefused = try await eventually { collector.hasRefused }
                #expect(isRefused)
                collector.setBusy(false)
                let haveCome = try await eventually { !collector.spans.isEmpty }
                #expect(haveCome)
                _ = try await server.send("GET", "/classes/Last/x")
            }
            #expect(collector.spans.contains { $0["attributes"]?["url.path"] == "/parse/classes/Last/x" })
        }
    }

    /// Generates distinct secrets that contain a mark.
    private final class Secrets: Sendable {
        static let mark = "zq7mark"
        private let count = Atomic(0)

        var next: String { "\(Self.mark)\(count.add(1, ordering: .relaxed).newValue)" }
    }

    @Test("Secrets in any part of a request never appear in logs, spans or metrics")
    func secrets() async throws {
        let (lines, secrets) = (LogLines(), Secrets())
        let port = try await FreePort.find()
        let options: JSONObject = [
            "metrics": ["port": .number(Double(port))], "verbose": true, "slowQueryThreshold": 1,
            "accountLockout": ["threshold": 2, "duration": 1],
        ]
        try await SpanCollector.run { collector in
            try await TestServer.run(Self.options(collector, options), logger: lines.logger) { server in
                try await Self.tryAll(server, secrets)
                _ = try await server.send("GET", "/classes/Last/x")
                let haveCome = try await eventually {
                    collector.spans.contains { $0["attributes"]?["url.path"] == "/parse/classes/Last/x" }
                }
                #expect(haveCome)
                let leaks = lines.all.filter { $0.contains(Secrets.mark) }
                #expect(leaks.isEmpty, "\(leaks.joined(separator: "\n"))")
                #expect(lines.all.count > 100)
                let spans = collector.spans.map(\.text).filter { $0.contains(Secrets.mark) }
                #expect(spans.isEmpty, "\(spans.joined(separator: "\n"))")
                let metrics = try await TestServer.metrics(at: port)
                #expect(metrics.count > 50 && !metrics.text.contains(Secrets.mark))
            }
        }
    }

    private static func each<Element: Sendable>(
        _ list: [Element], _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, element) in list.enumerated() {
                if place >= 8 { try await group.next() }
                group.addTask { try await body(element) }
            }
            try await group.waitForAll()
        }
    }

    /// Sends requests of all kinds with a secret in every possible position, except names of classes and ids.
    private static func tryAll(_ server: TestServer, _ secrets: Secrets) async throws {
        func text() -> JSONValue { .string(secrets.next) }
        let names = [
            "Authorization", "Cookie", "X-Parse-Session-Token", "X-Parse-Master-Key", "X-Parse-REST-API-Key",
            "X-Parse-Maintenance-Key", "X-Parse-JavaScript-Key", "X-Parse-Client-Key", "X-Parse-Installation-Id",
            "X-Parse-Request-Id", "X-Parse-Cloud-Context", "X-Parse-Application-Id", "X-Request-Id", "traceparent",
            "tracestate", "Referer", "User-Agent", "Origin", "X-Forwarded-For", "X-HTTP-Method-Override", "Accept",
            "Content-Type", "If-None-Match", "Range", "X-Parse-File-Metadata", "X-Parse-Upload-Mode",
        ]
        try await each(names) { name in
            for (method, path) in [("GET", "/classes/Song"), ("POST", "/files/a.txt"), ("POST", "/login")] {
                _ = try await server.send(
                    method, path, method == "GET" ? nil : ["a": .string(secrets.next)], headers: [name: secrets.next])
            }
        }
        let user = try await server.signUp(
            secrets.next, password: secrets.next, ["email": .string("\(secrets.next)@x.example"), "note": text()])
        let id = try await server.create(
            "Song", ["title": text(), "n": 1, "list": [text()], "inner": ["password": text(), "a": ["token": text()]]])
        let bytes = Array(secrets.next.utf8)
        let object: JSONObject = [
            "title": text(), "username": text(), "password": text(), "email": text(), "token": text(),
            "authData": ["facebook": ["id": text(), "access_token": text()]],
            "receipt": ["__type": "Bytes", "base64": text()], "where": ["title": text()], "path": text(),
            "ACL": .object([Name(secrets.next): ["read": true]]),
        ]
        let body = JSONValue.object(object)
        for identity in [TestServer.Identity.anonymous, .master, .session(user.token), .maintenance] {
            try await each([
                ("POST", "/users"), ("POST", "/login"), ("POST", "/loginAs"), ("POST", "/verifyPassword"),
                ("POST", "/logout"),
                ("PUT", "/users/\(user.id)"), ("POST", "/requestPasswordReset"), ("POST", "/verificationEmailRequest"),
                ("POST", "/challenge"), ("POST", "/classes/Song"), ("PUT", "/classes/Song/\(id)"),
                ("POST", "/sessions"),
                ("POST", "/roles"), ("POST", "/installations"), ("POST", "/functions/none"), ("POST", "/jobs/none"),
                ("POST", "/push"), ("PUT", "/config"), ("POST", "/events/none"), ("POST", "/validate_purchase"),
                ("PUT", "/schemas/Song"), ("POST", "/hooks/functions"), ("POST", "/hooks/triggers"),
                ("PUT", "/cloud_code/jobs/x"),
                ("POST", "/batch"), ("POST", "/aggregate/Song"), ("POST", "/files/a.txt"), ("POST", "/unheard"),
            ]) { method, path in _ = try await server.send(method, path, body, as: identity) }
            try await each([
                #"where={"title":"~"}"#, #"where={"title":"~"#, #"where={"title":{"$regex":"[~"}}"#, #"where={"~":1}"#,
                #"where={"n":"~"}"#, #"where={"title":{"$text":{"$search":{"$term":"~"}}}}"#, "order=~", "keys=~",
                "include=~", "limit=~", "skip=~", "hint=~", "readPreference=~", "redirectClassNameForKey=~", "~=~",
                #"pipeline=[{"$match":{"title":"~"}}]"#, #"pipeline=[{"~":1}]"#, #"distinct=~"#,
                "username=~&password=~",
                "token=~", "text=~", "requestId=~", "level=~",
            ]) { query in
                let filled =
                    query.replacing("~", with: secrets.next).addingPercentEncoding(
                        withAllowedCharacters: .urlQueryAllowed) ?? ""
                for path in [
                    "/classes/Song", "/login", "/aggregate/Song", "/scriptlog", "/users", "/files/\(secrets.next)",
                    "/health",
                ] {
                    _ = try await server.send("GET", path + "?" + filled, as: identity)
                }
            }
            _ = try await server.send(
                "POST", "/classes/Song", bytes: Array(#"{"title":"\#(secrets.next)"#.utf8), as: identity)
            _ = try await server.send(
                "POST", "/batch",
                [
                    "requests": [
                        ["method": "POST", "path": "/parse/classes/Song", "body": body],
                        ["method": "PUT", "path": .string("/parse/classes/Song/\(id)"), "body": ["n": text()]],
                        ["method": "GET", "path": .string("/parse/classes/Song?where=\(secrets.next)")],
                    ]
                ], as: identity)
            _ = try await server.send(
                "PUT", "/classes/Song/\(id)", ["n": ["__op": "Increment", "amount": text()]], as: identity)
            let name = secrets.next
            for _ in 0..<2 {
                _ = try await server.send(
                    "POST", "/users", ["username": .string(name), "password": text()], as: identity)
            }
            for _ in 0..<4 {
                _ = try await server.send(
                    "POST", "/login", ["username": .string(name), "password": text()], as: identity)
            }
            let file = try await server.send("POST", "/files/\(secrets.next).txt", bytes: bytes, as: identity)
            if let url = file["url"]?.stringValue {
                _ = try await server.send("GET", url, as: .nobody)
                _ = try await server.send("DELETE", "/files/\(file["name"]?.stringValue ?? "")", as: identity)
            }
        }
        // An unreachable webhook with secrets in its URL.
        let address = "http://kim:\(secrets.next)@127.0.0.1:1/\(secrets.next)?token=\(secrets.next)"
        _ = try await server.send(
            "POST", "/hooks/functions", ["functionName": "far", "url": .string(address)], as: .master)
        _ = try await server.send("POST", "/functions/far", body)
    }
}
