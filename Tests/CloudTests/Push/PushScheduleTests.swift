import Foundation
import JSON
import TestSupport
import Testing

@Suite struct PushScheduleTests {
    @Test("Sends a scheduled push once, at its time, and never if its row is deleted")
    func scheduled() async throws {
        try await PushFixture.run { server, sink in
            // One of the two servers sends the push.
            try await server.alongside(["push": ["ios": sink.apple("app.one")]]) { _ in
                try await Self.expectScheduled(server, sink)
            }
        }
    }

    private static func expectScheduled(_ server: TestServer, _ sink: PushSink) async throws {
        try await PushFixture.device(server, "ab01", "ios", ["badge": 1])
        let asked = ContinuousClock.now
        // Rounded down to whole seconds, so due in 2 to 3 seconds.
        let soon = Date.now.addingTimeInterval(3).ISO8601Format()
        let far = "2126-01-01T10:00:00Z"
        let answers = try await [soon, far, far].asyncMap { time in
            try await server.send(
                "POST", "/push", ["where": [:], "push_time": .string(time), "data": ["badge": "Increment"]],
                as: .master
            ).headers["x-parse-push-status-id"] ?? ""
        }
        let waiting = try await server.send("GET", "/classes/_PushStatus/\(answers[1])", as: .master)
        #expect(waiting["status"] == "scheduled" && waiting["pushTime"] == "2126-01-01T10:00:00.000Z")
        _ = try await server.send("DELETE", "/classes/_PushStatus/\(answers[1])", as: .master).succeeded()
        #expect(try await PushFixture.row(server, answers[0])["numSent"] == 1)
        #expect(sink.notifications.map { $0.body["aps"]?["badge"] } == [.number(2)])
        let at = try #require(sink.notifications.first).at
        #expect(at - asked >= .seconds(2) && at - asked < .seconds(5.5))
        // The second push is moved to the past, so it is sent, too.
        _ = try await server.send(
            "PUT", "/classes/_PushStatus/\(answers[2])", ["pushTime": "2020-01-01T10:00:00.000Z"], as: .master
        ).succeeded()
        #expect(try await PushFixture.row(server, answers[2])["numSent"] == 1)
        #expect(sink.notifications.count == 2)
    }

    @Test("A server with disablePushWorker leaves its pushes to another server")
    func storing() async throws {
        try await PushFixture.run(PushSink.Manners(), ["queueOptions": ["disablePushWorker": true]]) { server, sink in
            try await PushFixture.device(server, "ab01")
            let answer = try await server.send("POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            try await server.alongside(["push": ["ios": sink.apple("app.one")]]) { _ in
                let row = try await PushFixture.row(server, id)
                #expect(row["numSent"] == 1)
            }
            #expect(sink.tokens == ["ab01"])
        }
    }

    @Test(
        "Another process sends a dead process's range, or fails it if delivery is atMostOnce",
        arguments: ["atLeastOnce", "atMostOnce"])
    func takeover(delivery: String) async throws {
        try await PushFixture.run(PushSink.Manners(), ["queueOptions": ["disablePushWorker": true]]) { server, sink in
            let device = try await PushFixture.device(server, "ab01", "ios", ["badge": 5])
            let answer = try await server.send(
                "POST", "/push", ["where": [:], "data": ["badge": "Increment"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            // The state after a process died between changing badges and sending.
            try await server.execute(
                """
                INSERT INTO "_roost_push_range" ("pushId", "offset", "route", "number", "devices", "owner",
                    "leasedUntil", "attempts")
                SELECT '\(id)', '', 'ios', 0, array_agg("objectId"), 'dead', now() - interval '1 second', 1
                FROM "_Installation";
                DELETE FROM "_roost_push_part";
                UPDATE "_PushStatus" SET "status" = 'running', "count" = 1;
                """)
            try await server.alongside(["push": ["ios": sink.apple("app.one"), "delivery": .string(delivery)]]) { _ in
                let row = try await PushFixture.row(server, id)
                #expect(row["status"] == "succeeded" && row["count"] == nil)
                #expect(row["numSent"] == (delivery == "atMostOnce" ? 0 : 1))
                #expect(row["numFailed"] == (delivery == "atMostOnce" ? 1 : nil))
            }
            #expect(
                sink.notifications.map { $0.body["aps"]?["badge"] } == (delivery == "atMostOnce" ? [] : [.number(5)]))
            let left = try await server.send("GET", "/installations/\(device)", as: .master)
            #expect(left["badge"] == 5)
        }
    }

    @Test("With atMostOnce, a stopping server returns only the devices that it hasn't sent to")
    func cleanStop() async throws {
        let identity = try PushSink.Identity()
        var manners = PushSink.Manners()
        manners.streams = 1
        manners.scripts = ["": [.silence]]
        let silent = manners
        try await PushFixture.run(PushSink.Manners(), ["queueOptions": ["disablePushWorker": true]]) { server, _ in
            try await PushFixture.fill(server, 10)
            let answer = try await server.send("POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            let first = try await PushSink.run(silent, identity: identity) { sink in
                let entry = sink.apple("app.one", ["requestTimeout": 300_000])
                try await server.alongside(["push": ["ios": entry, "delivery": "atMostOnce"]]) { _ in
                    let isSent = try await eventually { !sink.tokens.isEmpty }
                    #expect(isSent)
                }
                return sink.tokens
            }
            #expect((1..<10).contains(first.count))
            try await PushSink.run(identity: identity) { sink in
                try await server.alongside(["push": ["ios": sink.apple("app.one"), "delivery": "atMostOnce"]]) { _ in
                    let row = try await PushFixture.row(server, id)
                    #expect(row["numSent"] == .number(Double(10 - first.count)), "\(row.text)")
                    #expect(row["numFailed"] == .number(Double(first.count)), "\(row.text)")
                }
                #expect(Set(sink.tokens).count == sink.tokens.count && Set(sink.tokens).isDisjoint(with: first))
            }
        }
    }

    @Test("A push that times out waiting for a lock is postponed and doesn't fail")
    func slowBeginning() async throws {
        try await PushFixture.run(options: ["statementTimeout": 1000]) { server, sink in
            try await PushFixture.device(server, "ab01")
            let id = try await server.whileLocked("LOCK TABLE \"_Installation\" IN ACCESS EXCLUSIVE MODE") {
                let answer = try await server.send(
                    "POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
                let isPostponed = try await eventually {
                    try await server.texts(#"SELECT "pushId" FROM "_roost_push_part" WHERE "due" > now()"#).count == 1
                }
                #expect(isPostponed)
                return try #require(answer.headers["x-parse-push-status-id"])
            }
            try await server.execute(#"UPDATE "_roost_push_part" SET "due" = now()"#)
            let row = try await PushFixture.row(server, id)
            #expect(row["status"] == "succeeded" && sink.tokens == ["ab01"], "\(row.text)")
        }
    }

    @Test("A forgotten range is sent once its lease expires, even by the same process")
    func forgotten() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["ab": [.late(.seconds(20), .init())]]
        try await PushSink.run(manners) { sink in
            let push: JSONObject = ["ios": sink.apple("app.one", ["requestTimeout": 60_000])]
            try await TestServer.run(["push": .object(push)]) { server in
                try await PushFixture.device(server, "ab01")
                let other = try await PushFixture.device(server, "ac01")
                let answer = try await server.send(
                    "POST", "/push", ["where": ["deviceToken": "ab01"], "data": ["alert": "x"]], as: .master)
                let id = try #require(answer.headers["x-parse-push-status-id"])
                let isSent = try await eventually { sink.tokens == ["ab01"] }
                #expect(isSent)
                // The state after a process failed to record that it owns or completed the range.
                try await server.execute(
                    """
                    INSERT INTO "_roost_push_range" ("pushId", "offset", "route", "number", "devices", "owner",
                        "leasedUntil", "attempts")
                    SELECT "pushId", '', 'ios', 1, ARRAY['\(other)'], "owner", now() + interval '15 seconds', 1
                    FROM "_roost_push_range"
                    """)
                let row = try await PushFixture.row(server, id, within: .seconds(120))
                #expect(row["status"] == "succeeded" && row["numSent"] == 2, "\(row.text)")
                #expect(sink.tokens == ["ab01", "ac01"])
            }
        }
    }

    @Test("Retries storing the outcome until the database accepts it, without resending")
    func unsettled() async throws {
        let lines = LogLines()
        try await PushFixture.run(logger: lines.logger) { server, sink in
            try await PushFixture.device(server, "ab01")
            try await server.execute(
                """
                CREATE FUNCTION "refuse"() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
                CREATE TRIGGER "refuse" BEFORE UPDATE ON "_PushStatus" FOR EACH ROW WHEN (NEW."numSent" > 0)
                    EXECUTE FUNCTION "refuse"();
                """)
            let answer = try await server.send("POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            let isTriedOften = try await eventually(within: .seconds(60)) {
                lines.all.count { $0.contains("can't store push status") } >= 7
            }
            #expect(isTriedOften)
            try await server.execute("DROP TRIGGER \"refuse\" ON \"_PushStatus\"")
            let row = try await PushFixture.row(server, id)
            #expect(row["status"] == "succeeded" && row["numSent"] == 1, "\(row.text)")
            #expect(sink.tokens == ["ab01"])
        }
    }

    @Test("expiration_interval counts from the new time of a rescheduled push")
    func movedExpiry() async throws {
        try await PushFixture.run { server, _ in
            let answer = try await server.send(
                "POST", "/push",
                [
                    "where": [:], "data": ["alert": "x"], "push_time": "2126-01-01T10:00:00Z",
                    "expiration_interval": 3600,
                ], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            _ = try await server.send(
                "PUT", "/classes/_PushStatus/\(id)", ["pushTime": "2127-01-01T10:00:00.000Z"], as: .master
            ).succeeded()
            let expiry = "SELECT (to_timestamp(\"expiry\" / 1000) AT TIME ZONE 'UTC')::text FROM \"_roost_push\""
            let isMoved = try await eventually { try await server.texts(expiry) == ["2127-01-01 11:00:00"] }
            #expect(isMoved)
        }
    }

    @Test("Reschedules a local-time push even after its devices were grouped by time zone")
    func movedZones() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "ab01", "ios", ["timeZone": "Europe/London"])
            try await PushFixture.device(server, "ac01", "ios", ["timeZone": "Nowhere/Land"])
            // That local time has passed in Kiritimati, and is hours away in London.
            let text = String(Date.now.addingTimeInterval(10 * 3600).ISO8601Format().dropLast())
            let answer = try await server.send(
                "POST", "/push", ["where": [:], "push_time": .string(text), "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            let isSorted = try await eventually {
                try await server.texts(#"SELECT "offset" FROM "_roost_push_part" WHERE "zones" IS NOT NULL"#).count == 1
            }
            #expect(isSorted && sink.tokens.isEmpty)
            _ = try await server.send(
                "PUT", "/classes/_PushStatus/\(id)", ["pushTime": "2020-01-01T10:00:00.000"], as: .master
            ).succeeded()
            let row = try await PushFixture.row(server, id)
            #expect(row["numSent"] == 1 && row["numFailed"] == 1 && sink.tokens == ["ab01"], "\(row.text)")
        }
    }

    @Test("A push whose local time is past everywhere is sent at once; its interval counts from now")
    func pastLocalTime() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "ab01", "ios", ["timeZone": "Europe/London"])
            let row = try await PushFixture.push(
                server,
                [
                    "where": [:], "data": ["alert": "x"], "push_time": "2020-01-01T10:00:00",
                    "expiration_interval": 3600,
                ])
            #expect(row["numSent"] == 1 && sink.tokens == ["ab01"], "\(row.text)")
        }
    }

    @Test("Fails a push that has already expired, without sending it")
    func expired() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "ab01")
            let row = try await PushFixture.push(
                server, ["where": [:], "data": ["alert": "x"], "expiration_time": "2020-01-01T00:00:00Z"])
            #expect(row["status"] == "failed")
            #expect(row["errorMessage"]?["message"] == "expired before it could be sent")
            #expect(sink.tokens.isEmpty)
        }
    }
}

extension Array {
    fileprivate func asyncMap<R>(_ transform: (Element) async throws -> R) async rethrows -> [R] {
        var results: [R] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
