import Foundation
import JSON
import TestSupport
import Testing

/// Pushes that wait for their time, and those that another process takes over.
@Suite struct PushScheduleTests {
    @Test("A scheduled push is sent at its time, not before, once, and not at all when its row is removed")
    func scheduled() async throws {
        try await PushFixture.run { server, sink in
            // Of two servers one sends it.
            try await server.alongside(["push": ["ios": sink.apple("app.one")]]) { _ in
                try await Self.expectScheduled(server, sink)
            }
        }
    }

    private static func expectScheduled(_ server: TestServer, _ sink: PushSink) async throws {
        try await PushFixture.device(server, "ab01", "ios", ["badge": 1])
        let asked = ContinuousClock.now
        // Whole seconds: it is 2 to 3 of them.
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
        // Moved to now, the other one is sent as well.
        _ = try await server.send(
            "PUT", "/classes/_PushStatus/\(answers[2])", ["pushTime": "2020-01-01T10:00:00.000Z"], as: .master
        ).succeeded()
        #expect(try await PushFixture.row(server, answers[2])["numSent"] == 1)
        #expect(sink.notifications.count == 2)
    }

    @Test("A server that only stores pushes leaves them to another one")
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
        "What a process that died had taken is sent by another one, or given up where nothing may be sent twice",
        arguments: ["atLeastOnce", "atMostOnce"])
    func takeover(delivery: String) async throws {
        try await PushFixture.run(PushSink.Manners(), ["queueOptions": ["disablePushWorker": true]]) { server, sink in
            let device = try await PushFixture.device(server, "ab01", "ios", ["badge": 5])
            let answer = try await server.send(
                "POST", "/push", ["where": [:], "data": ["badge": "Increment"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            // As a process leaves it that ends after it has changed the badges.
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

    @Test("What has expired when it could be sent is not sent")
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
