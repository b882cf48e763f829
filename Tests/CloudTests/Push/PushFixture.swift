import Foundation
import JSON
import Logging
import TestSupport
import Testing

/// A server with a push sink, devices and pushes.
enum PushFixture {
    static func run(
        _ manners: PushSink.Manners = PushSink.Manners(), _ changes: JSONObject = [:], options: JSONObject = [:],
        logger: Logger = TestServer.quietLogger,
        _ body: @escaping @Sendable (TestServer, PushSink) async throws -> Void
    ) async throws {
        try await WebhookServer.run { tokens in
            tokens.on("token") { _ in .text(#"{"access_token":"access-1","expires_in":3599}"#) }
            try await PushSink.run(manners) { sink in
                var push: JSONObject = [
                    "ios": [sink.apple("app.one"), sink.apple("app.two")],
                    "osx": sink.apple("app.mac"),
                    "android": sink.android(tokens: tokens.url("token")),
                ]
                for (key, value) in changes { push[key] = value }
                try await TestServer.run(options.merging(["push": .object(push)]) { $1 }, logger: logger) {
                    try await body($0, sink)
                }
            }
        }
    }

    @discardableResult
    static func device(
        _ server: TestServer, _ token: String, _ type: String = "ios", _ fields: JSONObject = [:]
    ) async throws -> String {
        var device: JSONObject = [
            "deviceType": .string(type), "deviceToken": .string(token),
            "installationId": .string("i-\(token)"),
        ]
        if type == "ios" { device["appIdentifier"] = "app.one" }
        for (key, value) in fields { device[key] = value }
        return try await server.send("POST", "/installations", .object(device), as: .master).succeeded()
            .string("objectId")
    }

    /// Sends a push, waits for its end and returns its `_PushStatus` row.
    static func push(_ server: TestServer, _ body: JSONValue) async throws -> JSONValue {
        let answer = try await server.send("POST", "/push", body, as: .master).succeeded()
        #expect(answer["result"] == true)
        return try await row(server, #require(answer.headers["x-parse-push-status-id"]))
    }

    static func row(_ server: TestServer, _ id: String, within limit: Duration = .seconds(60)) async throws -> JSONValue
    {
        var row = JSONValue.null
        let hasEnded = try await eventually(within: limit) {
            row = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master).json
            return ["succeeded", "failed"].contains(row["status"]?.stringValue)
        }
        #expect(hasEnded, "\(row.text)")
        return row
    }

    static func fill(_ server: TestServer, _ count: Int, prefix: String = "aa") async throws {
        for start in stride(from: 0, to: count, by: 50) {
            let requests = (start..<min(start + 50, count)).map { number -> JSONValue in
                [
                    "method": "POST", "path": "/parse/classes/_Installation",
                    "body": [
                        "deviceType": "ios", "deviceToken": .string("\(prefix)\(number + 10_000)"),
                        "installationId": .string("n-\(prefix)\(number)"), "appIdentifier": "app.one",
                    ],
                ]
            }
            let made = try await server.send("POST", "/batch", ["requests": .array(requests)], as: .master).succeeded()
            let refused = made.json.arrayValue?.first { $0["success"] == nil }
            #expect(refused == nil, "\(refused?.text ?? "")")
        }
    }

    static func id(_ object: JSONValue) -> String { object["objectId"]?.stringValue ?? "" }

    static func tokens(_ server: TestServer) async throws -> Set<String> {
        let found = try await server.find(
            "_Installation", ["where": ["deviceToken": ["$exists": true]], "limit": 1000], as: .master)
        return Set(found.results.compactMap { $0["deviceToken"]?.stringValue })
    }

    static func failures(_ server: TestServer, _ row: JSONValue) async throws -> [String: String] {
        let answer = try await server.send("GET", "/push/\(id(row))/failures", as: .master)
        var reasons: [String: String] = [:]
        for failure in answer["results"]?.arrayValue ?? [] {
            let device = try await server.send("GET", "/installations/\(id(failure))", as: .master)
            reasons[try device.string("installationId")] = failure["reason"]?.stringValue
        }
        return reasons
    }
}
