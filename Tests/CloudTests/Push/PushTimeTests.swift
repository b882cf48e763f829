import Foundation
import JSON
import TestSupport
import Testing

/// Push times: absolute times, device-local times, and delays.
@Suite struct PushTimeTests {
    @Test(
        "A push_time with an offset is absolute, one without is device-local; a past one is sent at once",
        arguments: [
            ("2126-06-01T12:00:00+02:00", "2126-06-01T10:00:00.000Z"),
            ("2126-06-01T12:00:00Z", "2126-06-01T12:00:00.000Z"),
            ("2126-06-01T12:00:00+0200", "2126-06-01T10:00:00.000Z"),
            ("2126-06-01T12:00:00", "2126-06-01T12:00:00.000"), ("2126-06-01", "2126-06-01T00:00:00.000"),
        ])
    func times(text: String, shown: String) async throws {
        try await PushFixture.run { server, _ in
            let answer = try await server.send(
                "POST", "/push", ["where": [:], "push_time": .string(text), "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"], "\(answer.text)")
            let row = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master)
            #expect(row["status"] == "scheduled" && row["pushTime"] == .string(shown), "\(row.text)")
            let past = try await PushFixture.push(
                server, ["where": [:], "push_time": 1_500_000_000, "data": ["alert": "x"]])
            #expect(past["status"] == "succeeded")
        }
    }

    @Test("Rejects a push_time beyond maxScheduleDays; without scheduledPush, sends at once")
    func bounds() async throws {
        let changes: JSONObject = ["maxScheduleDays": 14]
        try await PushFixture.run(PushSink.Manners(), changes, options: ["scheduledPush": false]) { server, sink in
            try await PushFixture.device(server, "ab01")
            let far = Date.now.addingTimeInterval(15 * 86_400).ISO8601Format()
            let refused = try await server.send(
                "POST", "/push", ["where": [:], "push_time": .string(far), "data": [:]], as: .master)
            #expect(refused["code"] == 115 && refused["error"] == "push_time is too far ahead")
            let near = Date.now.addingTimeInterval(86_400).ISO8601Format()
            let row = try await PushFixture.push(
                server, ["where": [:], "push_time": .string(near), "data": ["alert": "x"]])
            #expect(row["numSent"] == 1 && sink.tokens == ["ab01"])
        }
    }

    @Test("Sends a local time to each time zone separately, and to no device without a valid zone")
    func localTimes() async throws {
        try await PushFixture.run { server, sink in
            for (token, zone) in [("a0", "Pacific/Kiritimati"), ("a1", "Europe/London"), ("a2", "America/New_York")] {
                try await PushFixture.device(server, token, "ios", ["timeZone": .string(zone)])
            }
            try await PushFixture.device(server, "ae")
            try await PushFixture.device(server, "af", "ios", ["timeZone": "Nowhere/Land"])
            // In an hour, it is that local time in Kiritimati, the first of all zones.
            let wanted = Date.now.addingTimeInterval(3600 + 14 * 3600)
            let text = String(wanted.ISO8601Format().dropLast())
            let answer = try await server.send(
                "POST", "/push", ["where": [:], "push_time": .string(text), "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            // The devices are grouped by time zone, and then the first group is due.
            try await server.execute("UPDATE \"_roost_push_part\" SET \"due\" = now()")
            let isSorted = try await eventually {
                try await server.texts("SELECT \"offset\" FROM \"_roost_push_part\"").count == 3
            }
            #expect(isSorted)
            try await server.execute(
                "UPDATE \"_roost_push_part\" SET \"due\" = now() WHERE 'Pacific/Kiritimati' = ANY(\"zones\")")
            let isFirst = try await eventually { sink.tokens.count == 1 }
            #expect(isFirst && sink.tokens == ["a0"])
            var row = JSONValue.null
            let isCounted = try await eventually {
                row = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master).json
                return row["sentPerUTCOffset"] == ["14": 1]
            }
            #expect(isCounted && row["status"] == "running", "\(row.text)")
            // The other zones are due.
            try await server.execute("UPDATE \"_roost_push_part\" SET \"due\" = now()")
            row = try await PushFixture.row(server, id)
            #expect(row["numSent"] == 3 && row["status"] == "succeeded", "\(row.text)")
            #expect(row["numFailed"] == 1 && row["failedPerType"] == ["ios": 1])
            #expect(sink.tokens == ["a0", "a1", "a2"])
            #expect(row["sentPerUTCOffset"]?.objectValue?.count == 3)
            // The same applies if no device has a time zone.
            let other = try await server.send(
                "POST", "/push",
                ["where": ["deviceToken": "ae"], "push_time": .string(text), "data": ["alert": "x"]], as: .master)
            try await server.execute("UPDATE \"_roost_push_part\" SET \"due\" = now()")
            row = try await PushFixture.row(server, try #require(other.headers["x-parse-push-status-id"]))
            #expect((row["numFailed"] ?? 0) == 0 && sink.tokens.count == 3, "\(row.text)")
        }
    }

    @Test(
        "Groups devices by their time zone's offset at the local time, across daylight-saving changes",
        arguments: [
            ("2126-03-31T02:30:00", ["-3.5", "1", "5.5", "5.75"]),
            ("2126-10-27T02:30:00", ["-3.5", "2", "5.5", "5.75"]),
            ("2126-01-10T09:00:00", ["-3.5", "1", "5.5", "5.75"]),
            ("2126-07-10T09:00:00", ["-3.5", "2", "5.5", "5.75"]),
        ])
    func clockChanges(time: String, offsets: [String]) async throws {
        try await PushFixture.run { server, _ in
            for (token, zone) in [
                ("a0", "Europe/Berlin"), ("a1", "Asia/Kolkata"), ("a2", "GMT-3:30"), ("a3", "GMT+0545"), ("a4", "Land"),
            ] {
                try await PushFixture.device(server, token, "ios", ["timeZone": .string(zone)])
            }
            _ = try await server.send(
                "POST", "/push", ["where": [:], "push_time": .string(time), "data": ["alert": "x"]], as: .master
            ).succeeded()
            try await server.execute("UPDATE \"_roost_push_part\" SET \"due\" = now()")
            var sorted: [String] = []
            let isSorted = try await eventually {
                sorted = try await server.texts(
                    "SELECT \"offset\" FROM \"_roost_push_part\" WHERE \"zones\" IS NOT NULL ORDER BY \"offset\"::float8"
                )
                return sorted.count == offsets.count
            }
            #expect(isSorted && sorted == offsets, "\(sorted)")
            let due = try await server.texts(
                """
                SELECT to_char("due" AT TIME ZONE 'UTC' + "offset"::float8 * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS')
                FROM "_roost_push_part" WHERE "zones" IS NOT NULL
                """)
            #expect(due == offsets.map { _ in time })
        }
    }

    @Test("A push due while no server ran is sent once by the next, unless it has expired")
    func down() async throws {
        try await PushFixture.run(PushSink.Manners(), ["queueOptions": ["disablePushWorker": true]]) { server, sink in
            try await PushFixture.device(server, "ab01")
            let soon = Date.now.addingTimeInterval(1)
            var ids: [String] = []
            for interval in [3600.0, 1] {
                let answer = try await server.send(
                    "POST", "/push",
                    [
                        "where": [:], "push_time": .string(soon.ISO8601Format()),
                        "expiration_interval": .number(interval),
                        "data": ["alert": "x"],
                    ], as: .master)
                ids.append(try #require(answer.headers["x-parse-push-status-id"]))
            }
            let isOver = try await eventually { Date.now > soon.addingTimeInterval(1) }
            #expect(isOver)
            let push: JSONObject = ["push": ["ios": sink.apple("app.one")]]
            let (late, expired) = (ids[0], ids[1])
            try await server.alongside(push) { first in
                try await first.alongside(push) { _ in
                    let sent = try await PushFixture.row(first, late)
                    #expect(sent["numSent"] == 1 && sent["status"] == "succeeded", "\(sent.text)")
                    let failed = try await PushFixture.row(first, expired)
                    #expect(failed["status"] == "failed", "\(failed.text)")
                    #expect(failed["errorMessage"]?["message"] == "expired before it could be sent")
                }
            }
            #expect(sink.tokens == ["ab01"])
        }
    }

    @Test("Two servers send a due push once, even if their database connections are cut")
    func twoServers() async throws {
        try await PushFixture.run { server, sink in
            try await server.alongside(["push": ["ios": sink.apple("app.one")]]) { _ in
                try await PushFixture.fill(server, 40)
                let soon = Date.now.addingTimeInterval(3).ISO8601Format()
                let answer = try await server.send(
                    "POST", "/push", ["where": [:], "push_time": .string(soon), "data": ["alert": "x"]], as: .master)
                let id = try #require(answer.headers["x-parse-push-status-id"])
                try await server.execute(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid()
                    """)
                let row = try await PushFixture.row(server, id)
                #expect(row["numSent"] == 40, "\(row.text)")
                #expect(sink.tokens.count == 40)
            }
        }
    }
}
