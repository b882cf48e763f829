import Foundation
import JSON
import TestSupport
import Testing

/// Pushes of servers that are killed. `scripts/push_crash.sh` runs this with more devices and repetitions before a
/// release.
@Suite("Push after a server is killed", .timeLimit(.minutes(30)))
struct PushCrashTests {
    private static func setting(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    private static let devices = setting("ROOST_PUSH_CRASH_DEVICES") ?? 3000
    private static let rounds = setting("ROOST_PUSH_CRASH_ROUNDS") ?? 1
    /// Whether to wait for the real time-out after which another process takes over. Otherwise the test changes the
    /// database.
    private static let waits = setting("ROOST_PUSH_CRASH_DEVICES") != nil

    @Test(
        "Killing a sending process notifies at most 500 devices twice (atLeastOnce) or never (atMostOnce)",
        arguments: ["atLeastOnce", "atMostOnce"])
    func killed(delivery: String) async throws {
        var manners = PushSink.Manners()
        manners.streams = 1000
        manners.scripts = ["": [.late(.milliseconds(30), .init())]]
        for _ in 0..<Self.rounds {
            try await PushSink.run(manners) { sink in
                let push: JSONObject = [
                    "ios": sink.apple("app.one", ["requestTimeout": 60_000]), "delivery": .string(delivery),
                ]
                try await ServerProcesses.run(2, ["push": .object(push)]) { processes in
                    try await Self.kill(one: processes, sink, mayMiss: delivery == "atMostOnce")
                }
            }
        }
    }

    private static func kill(one processes: ServerProcesses, _ sink: PushSink, mayMiss: Bool) async throws {
        let server = processes[1]
        try await server.execute(
            """
            INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "deviceType", "deviceToken",
                "appIdentifier", "installationId")
            SELECT 'd' || n, now(), now(), 'ios', 'aa' || n + 1000000, 'app.one', 'i' || n
            FROM generate_series(1, \(devices)) n
            """)
        let answer = try await server.send("POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
        let id = try #require(answer.headers["x-parse-push-status-id"])
        let isHalfDone = try await eventually(within: .seconds(60)) { sink.notifications.count > devices / 3 }
        #expect(isHalfDone)
        Foundation.kill(processes.identifiers[0], SIGKILL)
        let killed = ContinuousClock.now
        if !waits { try await expireLeases(server) }
        var row = JSONValue.null
        let hasEnded = try await eventually(within: .seconds(120)) {
            row = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master).json
            return ["succeeded", "failed"].contains(row["status"]?.stringValue)
        }
        let time = ContinuousClock.now - killed
        #expect(hasEnded && row["status"] == "succeeded", "\(row.text)")
        let failed = Int(row["numFailed"]?.numberValue ?? 0)
        let sent = JSONValue.number(Double(devices - failed))
        #expect(row["numSent"] == sent && row["sentPerType"] == ["ios": sent] && row["count"] == nil, "\(row.text)")
        let counts = Dictionary(sink.notifications.map { ($0.token, 1) }, uniquingKeysWith: +)
        let (doubled, missed) = (counts.values.count { $0 > 1 }, devices - counts.count)
        if mayMiss {
            // The killed process may or may not have sent its range, so the range isn't sent again.
            #expect(doubled == 0 && missed <= failed && failed <= 500, "\(doubled) doubled, \(missed) missed")
        } else {
            #expect(missed == 0 && failed == 0 && doubled <= 500, "\(doubled) doubled, \(missed) missed")
            #expect(counts.values.allSatisfy { $0 <= 2 })
        }
        #expect(time < .seconds(120))
        if waits {
            print("push: \(devices) devices, \(doubled) doubled, \(missed) missed, done \(time) after the kill")
        }
    }

    /// Expires the leases of the killed process once the other process has nothing else to do.
    private static func expireLeases(_ server: TestServer) async throws {
        var before: [String] = []
        let isLeft = try await eventually(within: .seconds(60)) {
            let left = try await server.texts("SELECT \"owner\" || \"id\" FROM \"_roost_push_range\" ORDER BY 1")
            defer { before = left }
            guard left == before, left.count <= 4 else { return false }
            try await Task.sleep(for: .milliseconds(500))
            return true
        }
        #expect(isLeft, "\(before)")
        try await server.execute("UPDATE \"_roost_push_range\" SET \"leasedUntil\" = now() - interval '1 second'")
    }
}
