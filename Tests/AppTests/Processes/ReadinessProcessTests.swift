import Foundation
import JSON
import TestSupport
import Testing

@Suite("Readiness of a process")
struct ReadinessProcessTests {
    private static func ask(_ path: String, at port: Int) async throws -> (status: Int, body: JSONValue) {
        let answer = try await TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "").send(
            "GET", path, as: .nobody)
        return (answer.status, answer.json)
    }

    @Test("With a frozen database, is live but unready, and recovers when it resumes")
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

    @Test("Reconnects after a PostgreSQL crash, counts the reconnect, and is ready again")
    func ended() async throws {
        try await CrashServer.run { server in
            let port = try await FreePort.find()
            try await server.start(launcher: ["/usr/bin/env", "ROOST_METRICS_PORT=\(port)"])
            let isReady = try await eventually { try await Self.ask("/ready", at: port).status == 200 }
            #expect(isReady)
            let reconnects = "roost_database_reconnects_total"
            let before = try await TestServer.metrics(at: port).sum(reconnects)
            try server.killPostgres()
            let isCounted = try await eventually(within: .seconds(60)) {
                try await TestServer.metrics(at: port).sum(reconnects) > before
            }
            #expect(isCounted)
            let isBack = try await eventually(within: .seconds(60)) {
                guard try await Self.ask("/ready", at: port).status == 200 else { return false }
                return try await server.send("GET", "/classes/Song").status == 200
            }
            #expect(isBack)
        }
    }

    @Test("Reports unready while draining, still serves requests, and exits with status 0")
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
            // NIO prints this if work is scheduled on a stopped thread.
            #expect(!server.output.contains("Cannot schedule tasks"), "\(server.output.suffix(1000))")
        }
    }

    @Test("A second signal ends a draining process with status 1 and stops its database")
    func secondSignal() async throws {
        try await CrashServer.run { server in
            let port = try await FreePort.find()
            try await server.start(
                launcher: ["/usr/bin/env", "ROOST_METRICS_PORT=\(port)", "ROOST_DRAIN_TIME=600"])
            let first = Task { try? await server.end(by: SIGTERM) }
            let isUnready = try await eventually { try await Self.ask("/ready", at: port).status == 503 }
            #expect(isUnready)
            // The actor is reentrant, so either call may observe the end.
            let second = try? await server.end(by: SIGTERM)
            let end = await first.value ?? second
            #expect(end == .exit(status: 1))
            #expect(server.output.contains("stopped by a signal"))
            #expect(server.postmaster == nil)
        }
    }

    @Test("A restart resets the counters and reports a later start time")
    func restart() async throws {
        let port = try await FreePort.find()
        let requests = "http_server_request_duration_seconds_count"
        try await ServerProcesses.run(1, ["metrics": ["port": .number(Double(port))]]) { processes in
            for _ in 0..<50 { _ = try await processes[0].send("GET", "/classes/Song") }
            let isCounted = try await eventually { try await TestServer.metrics(at: port).sum(requests) >= 50 }
            #expect(isCounted)
            let before = try await TestServer.metrics(at: port)
            // The process's start time has a resolution of 10 ms.
            try await processes.killAndStart(0)
            let isBack = try await eventually(within: .seconds(60)) {
                (try? await processes[0].send("GET", "/health", as: .nobody))?.status == 200
            }
            #expect(isBack)
            let after = try await TestServer.metrics(at: port)
            #expect(after.sum(requests) < 50)
            let start = "process_start_time_seconds"
            #expect(after[start] ?? 0 > before[start] ?? .infinity)
        }
    }

    @Test("A process that waits for a database lock at startup is live but unready, and then serves")
    func longStart() async throws {
        let port = try await FreePort.find()
        try await ServerProcesses.run(1, ["metrics": ["port": .number(Double(port))]]) {
            processes in
            let isReady = try await eventually { try await Self.ask("/ready", at: port).status == 200 }
            #expect(isReady)
            let database = processes[0]
            try await database.whileLocked("LOCK TABLE \"_SCHEMA\" IN ACCESS EXCLUSIVE MODE") {
                try await processes.killAndStart(0)
                let waits = try await database.waitsForLocks()
                #expect(waits)
                let isUnready = try await eventually {
                    guard let answer = try? await Self.ask("/ready", at: port) else { return false }
                    return answer.status == 503 && answer.body["phase"] == "starting"
                }
                #expect(isUnready)
                let live = try await Self.ask("/live", at: port)
                #expect(live.status == 200)
            }
            let isBack = try await eventually(within: .seconds(60)) {
                (try? await Self.ask("/ready", at: port))?.status == 200
            }
            #expect(isBack)
        }
    }
}
