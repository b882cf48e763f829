import App
import Foundation
import JSON
import TestSupport
import Testing

/// A server with all optional features except one.
@Suite("A server without one optional feature")
struct FeatureTests {
    enum Part: CaseIterable {
        case mail, push, liveQueries, console, metrics, node, replicas, tracing, indexAdvice
    }

    /// A request that only one feature serves, and the error without the feature.
    private struct Request {
        var method = "GET"
        var path: String
        var body: JSONValue?
        var identity = TestServer.Identity.anonymous
        var headers: [String: String] = [:]
        var status = 400
        var code: Int?
        var error: String
    }

    private static let requests: [Part: Request] = [
        .mail: Request(
            method: "POST", path: "/requestPasswordReset", body: ["email": "nobody@music.example"], code: 108,
            error: "An appName, publicServerURL, and emailAdapter are required for password reset and email "
                + "verification functionality."),
        .push: Request(
            method: "POST", path: "/push", body: ["where": [:], "data": ["alert": "a"]], identity: .master, code: 115,
            error: "Missing push configuration"),
        .console: Request(path: "/console/", identity: .nobody, status: 404, error: "Cannot GET /console/"),
        .metrics: Request(
            path: "/metrics", headers: ["Authorization": "Bearer watcher"], status: 404,
            error: "Cannot GET /metrics"),
        .node: Request(
            method: "POST", path: "/functions/local", body: [:], code: 141, error: "Invalid function: \"local\""),
        .indexAdvice: Request(
            path: "/index_advice", identity: .master, code: 119,
            error: "Index advice is off. Turn it on with the option indexAdvice."),
    ]

    /// Metrics of features without routes.
    private static let metrics: [Part: String] = [
        .replicas: "server=\"replica\"", .tracing: "roost_trace_spans_total",
        .liveQueries: "roost_live_query_connections",
    ]

    private static func options(
        without part: Part, _ others: WebhookServer, _ app: CloudApp, replica: String
    ) -> JSONObject {
        var options: JSONObject = [
            "appName": "Music", "publicServerURL": "http://127.0.0.1:1337/parse",
            "emailAdapter": [
                "module": "smtp", "options": ["host": "127.0.0.1", "port": 1, "from": "a@music.example"],
            ],
            "push": ["expo": ["endpoint": .string(others.url("push"))]],
            "liveQuery": ["classNames": ["Song"]], "startLiveQueryServer": true,
            "metrics": ["onMainPort": true, "key": "watcher"], "cloud": .string(app.main),
            "readReplicaURI": .string(replica), "tracingEndpoint": .string(others.url("v1/traces")),
            "indexAdvice": "build",
        ]
        switch part {
        case .mail: options["emailAdapter"] = nil
        case .push: options["push"] = nil
        case .liveQueries:
            options["liveQuery"] = nil
            options["startLiveQueryServer"] = nil
        case .console: options["console"] = ["enabled": false]
        case .metrics: options["metrics"] = nil
        case .node: options["cloud"] = nil
        case .replicas: options["readReplicaURI"] = nil
        case .tracing: options["tracingEndpoint"] = nil
        case .indexAdvice: options["indexAdvice"] = "off"
        }
        return options
    }

    @Test("Answers as if the feature didn't exist, serves all others, and logs no errors", arguments: Part.allCases)
    func without(part: Part) async throws {
        let lines = LogLines()
        let code = "Parse.Cloud.define('local', () => 'here');"
        try await WebhookServer.run { others in
            others.on("v1/traces") { _ in .nothing }
            try await CloudApp.with(["main.js": code]) { app in
                // The database is not in recovery, so no reads are sent to it.
                try await TestServer.withDatabase { replica in
                    let options = Self.options(without: part, others, app, replica: replica)
                    try await TestServer.run(options, logger: lines.logger) { server in
                        try await Self.useCore(server, others)
                        for (feature, request) in Self.requests {
                            try await Self.check(request, isThere: feature != part, server)
                        }
                        try await Self.checkLiveQueries(areThere: part != .liveQueries, server)
                        if part != .metrics { try await Self.checkMetrics(without: part, server) }
                    }
                }
            }
        }
        #expect(lines.all.filter { $0.hasPrefix("error ") } == [])
    }

    /// Uses the features that every server has.
    private static func useCore(_ server: TestServer, _ others: WebhookServer) async throws {
        let song = try await server.create("Song", ["title": "a"])
        for preference in ["PRIMARY", "SECONDARY"] as [JSONValue] {
            let found = try await server.find("Song", ["readPreference": preference])
            #expect(found.results.map { $0["objectId"] } == [.string(song)])
        }
        _ = try await server.signUp("kim")
        let session = try await server.send("POST", "/login", ["username": "kim", "password": "secret"])
        #expect(session.status == 200 && session["username"] == "kim", "\(session.text)")
        try await others.function("remote", on: server) { _ in .success("there") }
        let result = try await server.send("POST", "/functions/remote", [:])
        #expect(result["result"] == "there", "\(result.text)")
    }

    private static func check(_ request: Request, isThere: Bool, _ server: TestServer) async throws {
        let root = String(server.url.dropLast("/parse".count))
        let answer = try await server.send(
            request.method, request.path == "/console/" ? root + request.path : request.path, request.body,
            as: request.identity, headers: request.headers)
        guard !isThere else {
            #expect(answer.status == 200, "\(request.path): \(answer.text)")
            return
        }
        #expect(answer.status == request.status && answer.code == request.code, "\(request.path): \(answer.text)")
        #expect(answer.error == request.error)
    }

    private static func checkLiveQueries(areThere: Bool, _ server: TestServer) async throws {
        guard !areThere else {
            _ = try await server.liveQuery { try await $0.connect() }
            return
        }
        await #expect(throws: LiveQueryClient.Unexpected.self) {
            _ = try await server.liveQuery { try await $0.connect() }
        }
    }

    private static func checkMetrics(without part: Part, _ server: TestServer) async throws {
        let text = try await server.send("GET", "/metrics", headers: ["Authorization": "Bearer watcher"]).text
        for (feature, name) in metrics {
            #expect(text.contains(name) == (feature != part), "\(name)")
        }
    }
}
