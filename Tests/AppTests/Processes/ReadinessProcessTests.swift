import Foundation
import JSON
import TestSupport
import Testing

@Suite("Whether a process is ready")
struct ReadinessProcessTests {
    private static func ask(_ path: String, at port: Int) async throws -> (status: Int, body: JSONValue) {
        let answer = try await TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "").send(
            "GET", path, as: .nobody)
        return (answer.status, answer.json)
    }

    @Test("A frozen database is noticed, the process goes on, and is ready again afterwards")
    func frozen() async throws {
        try await CrashServer.run { server in
            let port = try await FreePort.find()
            try await server.start(launcher: ["/usr/bin/env", "ROOST_METRICS_PORT=\(port)"])
            let isReady = try await eventually { try await Self.ask("/ready", at: port).status == 200 }
            #expect(isReady)
            let postmaster = try #require(server.postmaster)
            try ProcessFamily.signal(SIGSTOP, to: postmaster)
            defer { try? ProcessFamily.signal(SIGCONT, to: postmaster) }
            let isUnready = try await eventually { try await Self.ask("/ready", at: port).status == 503 }
            #expect(isUnready)
            let ready = try await Self.ask("/ready", at: port)
            #expect(ready.body["checks"]?["database"]?["status"] == "down")
            #expect(ready.body["checks"]?["database"]?["reason"]?.stringValue?.isEmpty == false)
            let live = try await Self.ask("/live", at: port)
            #expect(live.status == 200)
            let samples = try await TestServer.metrics(at: port)
            #expect(samples["roost_database_up"] == 0)
            try ProcessFamily.signal(SIGCONT, to: postmaster)
            let isBack = try await eventually { try await Self.ask("/ready", at: port).status == 200 }
            #expect(isBack)
        }
    }

    @Test("A process that is about to end says so while it still serves, and ends well")
    func draining() async throws {
        try await CrashServer.run { server in
            let port = try await FreePort.find()
            try await server.start(
                launcher: ["/usr/bin/env", "ROOST_METRICS_PORT=\(port)", "ROOST_DRAIN_TIME=6"])
            let isReady = try await eventually { try await Self.ask("/ready", at: port).status == 200 }
            #expect(isReady)
            async let end = server.end(by: SIGTERM)
            let isUnready = try await eventually { try await Self.ask("/ready", at: port).status == 503 }
            #expect(isUnready)
            let answer = try await server.send("GET", "/classes/Song")
            #expect(answer.status == 200)
            let outcome = try await end
            #expect(outcome == .exit(status: 0))
        }
    }
}
