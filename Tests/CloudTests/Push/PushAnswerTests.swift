import Foundation
import JSON
import TestSupport
import Testing

/// The effect of push services' responses on devices.
@Suite struct PushAnswerTests {
    /// A device, its service's responses, and the outcome.
    struct Scenario: Sendable {
        var token: String
        var script: [PushSink.Reply]
        var requests: Int
        /// The reason of the failure, or nil on success.
        var reason: String?
        /// Whether the device's token is removed.
        var isCleared = false
    }

    private static let apple: [Scenario] = [
        Scenario(token: "a0", script: [.good], requests: 1),
        Scenario(
            token: "a1",
            script: [
                .failure(503, "ServiceUnavailable", retryAfter: 1), .failure(503, "ServiceUnavailable", retryAfter: 1),
                .good,
            ], requests: 3),
        Scenario(token: "a2", script: [.failure(503, "Shutdown")], requests: 3, reason: "Shutdown"),
        Scenario(token: "a3", script: [.failure(429, "TooManyRequests")], requests: 2, reason: "TooManyRequests"),
        Scenario(
            token: "a4", script: [.failure(410, "Unregistered")], requests: 1, reason: "Unregistered", isCleared: true),
        Scenario(
            token: "a5", script: [.failure(410, "ExpiredToken")], requests: 1, reason: "ExpiredToken", isCleared: true),
        Scenario(
            token: "a6", script: [.failure(400, "DeviceTokenNotForTopic")], requests: 1,
            reason: "DeviceTokenNotForTopic"),
        Scenario(token: "a7", script: [.failure(400, "BadPriority")], requests: 1, reason: "BadPriority"),
        Scenario(token: "a8", script: [.failure(413, "PayloadTooLarge")], requests: 1, reason: "PayloadTooLarge"),
        Scenario(token: "a9", script: [.late(.milliseconds(300), .init())], requests: 1),
        Scenario(token: "b0", script: [.reset, .good], requests: 2),
        Scenario(token: "b1", script: [.reset], requests: 2, reason: "the stream was reset (2)"),
        Scenario(token: "b2", script: [.silence], requests: 2, reason: "no response in time"),
        Scenario(token: "b3", script: [.failure(500, "InternalServerError"), .good], requests: 2),
        Scenario(
            token: "b4", script: [.failure(400, "BadDeviceToken")], requests: 1, reason: "BadDeviceToken",
            isCleared: true),
    ]

    @Test("Retries, fails or removes each device as APNs responds, without affecting others")
    func answersOfApple() async throws {
        var manners = PushSink.Manners()
        for scenario in Self.apple { manners.scripts[scenario.token] = scenario.script }
        try await PushSink.run(manners) { sink in
            let push: JSONObject = ["ios": sink.apple("app.one", ["requestTimeout": 3_000])]
            try await TestServer.run(["push": .object(push)]) { server in
                try await PushFixture.fill(server, 40, prefix: "ff")
                try await Self.expect(Self.apple, "ios", server, sink, others: 40)
            }
        }
    }

    private static let google: [Scenario] = [
        Scenario(token: "g0", script: [.good], requests: 1),
        Scenario(
            token: "g1", script: [.failure(503, "UNAVAILABLE", retryAfter: 1), .failure(503, "UNAVAILABLE"), .good],
            requests: 3),
        Scenario(token: "g2", script: [.failure(500, "INTERNAL")], requests: 3, reason: "INTERNAL"),
        Scenario(
            token: "g3", script: [.failure(404, "UNREGISTERED")], requests: 1, reason: "UNREGISTERED", isCleared: true),
        Scenario(
            token: "g4", script: [.failure(403, "SENDER_ID_MISMATCH")], requests: 1, reason: "SENDER_ID_MISMATCH"),
        Scenario(token: "g5", script: [.failure(429, "QUOTA_EXCEEDED", retryAfter: 1), .good], requests: 2),
        Scenario(
            token: "g6",
            script: [
                .answer(
                    .init(
                        status: 400,
                        body: """
                            {"error":{"status":"INVALID_ARGUMENT","details":[{"fieldViolations":[
                            {"field":"message.token"}]}]}}
                            """))
            ], requests: 1, reason: "INVALID_ARGUMENT", isCleared: true),
        Scenario(
            token: "g7", script: [.failure(400, "INVALID_ARGUMENT")], requests: 1, reason: "INVALID_ARGUMENT"),
        Scenario(
            token: "g8", script: [.answer(.init(status: 502, body: "<html>Bad Gateway</html>")), .good], requests: 2),
        Scenario(token: "g9", script: [.reset, .reset, .good], requests: 3),
        // A token of a browser or an Apple device with the type `android`.
        Scenario(
            token: "ga", script: [.failure(401, "THIRD_PARTY_AUTH_ERROR")], requests: 1,
            reason: "THIRD_PARTY_AUTH_ERROR"),
        // An unknown project doesn't invalidate tokens.
        Scenario(token: "gb", script: [.failure(404, "NOT_FOUND")], requests: 1, reason: "NOT_FOUND"),
        Scenario(token: "ü", script: [], requests: 0, reason: "InvalidRegistration"),
    ]

    @Test("Retries, fails or removes each device as FCM responds, without affecting others")
    func answersOfGoogle() async throws {
        var manners = PushSink.Manners()
        for scenario in Self.google { manners.scripts[scenario.token] = scenario.script }
        try await PushFixture.run(manners) { server, sink in
            try await Self.expect(Self.google, "android", server, sink, others: 0)
            // A device that received the notification twice can recognize the duplicate.
            let ids = sink.notifications.filter { $0.token == "g9" }.map { notification in
                notification.body["message"]?["android"]?["data"]?["push_id"]
            }
            #expect(Set(ids).count == 1)
            // None of the failures prevents the next push to other devices.
            let row = try await PushFixture.push(
                server, ["where": ["deviceToken": ["$in": ["g0", "g9"]]], "data": ["alert": "x"]])
            #expect(row["numSent"] == 2, "\(row.text)")
        }
    }

    private static func expect(
        _ scenarios: [Scenario], _ type: String, _ server: TestServer, _ sink: PushSink, others: Int
    ) async throws {
        for scenario in scenarios { try await PushFixture.device(server, scenario.token, type) }
        let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
        let failed = scenarios.filter { $0.reason != nil }
        #expect(row["status"] == "succeeded")
        #expect(row["numSent"] == .number(Double(scenarios.count + others - failed.count)), "\(row.text)")
        #expect(row["numFailed"] == .number(Double(failed.count)))
        let reasons = try await PushFixture.failures(server, row)
        let left = try await PushFixture.tokens(server)
        for scenario in scenarios {
            let requests = sink.tokens.filter { $0 == scenario.token }.count
            #expect(requests == scenario.requests, "\(scenario.token)")
            #expect(reasons["i-\(scenario.token)"] == scenario.reason, "\(scenario.token)")
            #expect(left.contains(scenario.token) == !scenario.isCleared, "\(scenario.token)")
        }
    }

    @Test("Stops a push that the service rejects for every device, and stores the reason")
    func refusedContent() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["": [.failure(400, "BadPriority")]]
        try await PushFixture.run(manners) { server, sink in
            try await PushFixture.fill(server, 200)
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["status"] == "failed" && row["numFailed"] == 200, "\(row.text)")
            #expect(row["errorMessage"]?["message"]?.stringValue?.hasSuffix("BadPriority") == true)
            #expect((10...40).contains(sink.tokens.count))
            #expect(try await PushFixture.tokens(server).count == 200)
        }
    }

    @Test("Stops using an entry with a rejected key and reports it, while other device types are sent")
    func refusedKey() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["aa": [.failure(403, "InvalidProviderToken")]]
        try await PushFixture.run(manners) { server, sink in
            try await PushFixture.fill(server, 200)
            try await PushFixture.device(server, "g1", "android")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["status"] == "succeeded" && row["numSent"] == 1 && row["numFailed"] == 200, "\(row.text)")
            #expect(row["errorMessage"]?["message"] == "APNs app.one sandbox: InvalidProviderToken")
            #expect(sink.tokens.count <= 41)
            sink.forget()
            let apple = try await PushFixture.push(
                server, ["where": ["deviceType": "ios"], "data": ["alert": "x"]])
            #expect(apple["status"] == "failed" && sink.tokens.isEmpty, "\(apple.text)")
        }
    }

    @Test("If APNs reports a provider token younger than 20 minutes as expired, retries with the same one")
    func expiredToken() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["ab": [.failure(403, "ExpiredProviderToken"), .good]]
        try await PushFixture.run(manners) { server, sink in
            try await PushFixture.device(server, "ab01")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 1, "\(row.text)")
            #expect(sink.tokens == ["ab01", "ab01"] && sink.authorizations.count == 1)
        }
    }

    @Test("Retries a bad device token with the next entry, but not an unregistered one")
    func nextEntry() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["ab": [.failure(400, "BadDeviceToken"), .good], "dd": [.failure(410, "Unregistered")]]
        try await PushSink.run(manners) { sink in
            let push: JSONObject = [
                "ios": [sink.apple("app.one"), sink.apple("app.one", ["production": true])]
            ]
            try await TestServer.run(["push": .object(push)]) { server in
                try await PushFixture.device(server, "ab01")
                try await PushFixture.device(server, "dd01")
                let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
                #expect(row["numSent"] == 1 && row["numFailed"] == 1, "\(row.text)")
                #expect(sink.tokens == ["ab01", "ab01", "dd01"])
            }
        }
    }

    @Test("Busy devices delay no others, even if every concurrent range contains one")
    func busyDevices() async throws {
        var manners = PushSink.Manners()
        manners.scripts = ["ab": [.failure(429, "TooManyRequests", retryAfter: 20)]]
        try await PushFixture.run(manners, ["queueOptions": ["batchSize": 40]]) { server, sink in
            // One device in each of the first ranges of ten.
            try await server.execute(
                """
                INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "deviceType", "deviceToken",
                    "appIdentifier", "installationId")
                SELECT 'd' || n + 1000, now(), now(), 'ios',
                    CASE WHEN n % 10 = 1 AND n < 60 THEN 'ab' ELSE 'aa' END || n + 1000, 'app.one', 'i' || n
                FROM generate_series(1, 150) n
                """)
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 144 && row["numFailed"] == 6, "\(row.text)")
            let tokens = sink.notifications.map(\.token)
            let last = try #require(tokens.lastIndex { $0.hasPrefix("aa") })
            let again = try #require(tokens.indices.first { tokens[..<$0].contains(tokens[$0]) })
            #expect(last < again)
            #expect(tokens.count == 156 && tokens.count { $0.hasPrefix("ab") } == 12)
        }
    }

    @Test("A device that stays busy delays no other")
    func busyDevice() async throws {
        var manners = PushSink.Manners()
        manners.scripts = [
            "ab": [.failure(429, "TooManyRequests", retryAfter: 20)], "ac": [.failure(503, "x"), .good],
        ]
        try await PushFixture.run(manners) { server, sink in
            try await PushFixture.fill(server, 20)
            try await PushFixture.device(server, "ab01")
            try await PushFixture.device(server, "ac01")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 21 && row["numFailed"] == 1, "\(row.text)")
            // A retry of one device doesn't delay the others.
            let sent = sink.notifications
            #expect(sent.last?.token == "ab01" && sent.count { $0.token == "ac01" } == 2)
            let tries = sent.filter { $0.token == "ab01" }.map(\.at)
            #expect(tries.count == 2 && tries[1] - tries[0] >= .seconds(19.9))
        }
    }
}
