import Foundation
import JSON
import Logging
import TestSupport
import Testing

/// The delivery of each part of a push: audience, time, badge, headers, and each service's format.
@Suite struct PushScenarioTests {
    private static func notification(
        _ body: JSONObject, _ device: JSONObject = [:], logger: Logger = TestServer.quietLogger
    ) async throws -> (PushSink.Notification, JSONValue) {
        var body = body
        if body["where"] == nil { body["where"] = [:] }
        let sent = body
        return try await PushSink.run { sink in
            try await TestServer.run(["push": ["ios": sink.apple("app.one")]], logger: logger) { server in
                try await PushFixture.device(server, "ab01", "ios", device)
                let row = try await PushFixture.push(server, .object(sent))
                return (try #require(sink.notifications.first, "\(row.text)"), row)
            }
        }
    }

    @Test("A push to channels reaches each device once, and its row shows them as a condition")
    func channels() async throws {
        try await PushFixture.run { server, sink in
            for (token, channels) in [("a1", ["a"]), ("a2", ["b", "a"]), ("a3", ["c"])] as [(String, JSONValue)] {
                try await PushFixture.device(server, token, "ios", ["channels": channels])
            }
            try await PushFixture.device(server, "a4")
            let row = try await PushFixture.push(server, ["channels": ["a", "b"], "data": ["alert": "x"]])
            #expect(sink.tokens == ["a1", "a2"])
            #expect(row["query"] == #"{"channels":{"$in":["a","b"]}}"#)
            let none = try await PushFixture.push(server, ["channels": [], "data": ["alert": "x"]])
            #expect(none["status"] == "succeeded" && none["numSent"] == 0)
            for body: JSONValue in [["where": .null, "data": [:]], ["channels": "a", "data": [:]]] {
                #expect(try await server.send("POST", "/push", body, as: .master)["code"] == 115)
            }
            let session = try await server.signUp("kim").token
            let refused = try await server.send(
                "POST", "/push", ["channels": ["a"], "data": [:]], as: .session(session))
            #expect(refused.status == 403)
        }
    }

    @Test("Sends the expiration to each service and stores it, from a time or an interval")
    func expiration() async throws {
        let now = Date.now.timeIntervalSince1970
        let (timed, row) = try await Self.notification([
            "expiration_time": .number(now + 100.6), "data": ["alert": "x"],
        ])
        let seconds = try #require(timed.headers["apns-expiration"].flatMap { Int($0) })
        #expect(abs(Double(seconds) - now - 100.6) <= 1)
        #expect(abs((row["expiry"]?.numberValue ?? 0) / 1000 - now - 100.6) <= 1)
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "g1", "android")
            let row = try await PushFixture.push(
                server, ["where": [:], "expiration_interval": 3600, "data": ["alert": "x"]])
            let ttl = sink.notifications.first?.body["message"]?["android"]?["ttl"]?.stringValue ?? ""
            #expect(["3599s", "3600s"].contains(ttl), "\(ttl)")
            #expect(row["expiration_interval"] == 3600 && row["expiry"] != nil)
        }
    }

    @Test("A numeric badge is stored, sent to Apple, and left out of Android's data")
    func badgeNumber() async throws {
        try await PushFixture.run { server, sink in
            let ids = try await [
                PushFixture.device(server, "a1", "ios", ["badge": 9]), PushFixture.device(server, "g1", "android"),
            ]
            _ = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x", "badge": 0]])
            for id in ids { #expect(try await server.send("GET", "/installations/\(id)", as: .master)["badge"] == 0) }
            let apple = try #require(sink.notifications.first { $0.token == "a1" })
            #expect(apple.body["aps"]?["badge"] == 0)
            let data = sink.notifications.first { $0.token == "g1" }?.body["message"]?["android"]?["data"]?["data"]
            #expect(data == #"{"alert":"x"}"#)
            for badge: JSONValue in ["x", [:], [], true] {
                let odd = try await server.send("POST", "/push", ["where": [:], "data": ["badge": badge]], as: .master)
                #expect(odd["code"] == 115)
            }
        }
    }

    @Test("A device without a matching locale or default text gets no text, and the log warns")
    func localeOnly() async throws {
        let lines = LogLines()
        let (notification, row) = try await Self.notification(
            ["data": ["alert-fr": "f", "own": 1]], ["localeIdentifier": "de-DE"], logger: lines.logger)
        #expect(notification.body == ["own": 1])
        #expect(
            lines.all.contains(
                "warning push has no default text for devices with other locales push=\(PushFixture.id(row))"))
    }

    @Test("A condition on an unknown field matches no device; a string matches an element of channels")
    func oddConditions() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "ab01", "ios", ["channels": ["a", "b"]])
            let none = try await PushFixture.push(server, ["where": ["nosuch": 1], "data": ["alert": "x"]])
            #expect(none["status"] == "succeeded" && none["numSent"] == 0, "\(none.text)")
            let one = try await PushFixture.push(server, ["where": ["channels": "a"], "data": ["alert": "x"]])
            #expect(one["numSent"] == 1 && sink.tokens == ["ab01"], "\(one.text)")
        }
    }

    @Test(
        "push_type determines the APNs topic, priority and push-type header",
        arguments: [
            ("background", "app.one", "5"), ("voip", "app.one.voip", nil),
            ("liveactivity", "app.one.push-type.liveactivity", nil), ("pushtotalk", "app.one.voip-ptt", nil),
            ("location", "app.one.location-query", nil),
        ] as [(String, String, String?)])
    func pushTypes(type: String, topic: String, priority: String?) async throws {
        let (notification, _) = try await Self.notification([
            "push_type": .string(type), "collapse_id": .string(String(repeating: "c", count: 64)),
            "data": ["content-available": 1],
        ])
        #expect(notification.headers["apns-push-type"] == type && notification.headers["apns-topic"] == topic)
        #expect(notification.headers["apns-priority"] == priority)
        #expect(notification.headers["apns-collapse-id"] == String(repeating: "c", count: 64))
        #expect(notification.body == ["aps": ["content-available": 1]])
    }

    @Test("Sends each app through its own entry; devices with another app or none fail")
    func apps() async throws {
        try await PushFixture.run { server, sink in
            for (token, app) in [("a1", "app.one"), ("a2", "app.two"), ("a3", "app.three")] {
                try await PushFixture.device(server, token, "ios", ["appIdentifier": .string(app)])
            }
            try await PushFixture.device(server, "a4", "ios", ["appIdentifier": .null])
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 2 && row["numFailed"] == 2, "\(row.text)")
            let topics = Dictionary(
                uniqueKeysWithValues: sink.notifications.map { ($0.token, $0.headers["apns-topic"]) })
            #expect(topics == ["a1": "app.one", "a2": "app.two"])
            let reasons = try await PushFixture.failures(server, row)
            #expect(reasons == ["i-a3": "No Provider found", "i-a4": "No Provider found"])
        }
    }

    @Test("Concurrent FCM messages share one access token, requested with the service account's signature")
    func accessToken() async throws {
        let address = "https://oauth2.googleapis.com/token"
        try await PushSink.run { sink in
            let answer: IdentityStandIn.Answer = { request in
                // Slow, so that concurrent requests wait for the same response.
                try? await Task.sleep(for: .milliseconds(300))
                let form = URLComponents(string: "?\(request.body)")?.queryItems ?? []
                let claims = sink.claims(ofAssertion: form.first { $0.name == "assertion" }?.value ?? "")
                let left = (claims?["exp"]?.numberValue ?? 0) - Date.now.timeIntervalSince1970
                guard claims?["iss"] == "push@songs.example", claims?["aud"] == .string(address),
                    claims?["scope"] == "https://www.googleapis.com/auth/firebase.messaging", (1...3600).contains(left),
                    form.contains(.init(name: "grant_type", value: "urn:ietf:params:oauth:grant-type:jwt-bearer"))
                else { return .init(#"{"error":"invalid_grant"}"#, status: 400) }
                return .init(#"{"access_token":"access-1","expires_in":3599}"#)
            }
            try await IdentityStandIn.run(answer) { google in
                var options = google.options
                options["push"] = ["android": sink.android(tokens: address)]
                try await TestServer.run(options) { server in
                    try await server.execute(
                        """
                        INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "deviceType", "deviceToken",
                            "installationId")
                        SELECT 'd' || n, now(), now(), 'android', 'g' || n, 'i' || n FROM generate_series(1, 5000) n
                        """)
                    let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
                    #expect(row["numSent"] == 5000, "\(row.text)")
                    #expect(Set(sink.tokens).count == 5000 && sink.tokens.count == 5000)
                    #expect(google.requests.count == 1 && google.requests.first?.host == "oauth2.googleapis.com")
                }
            }
        }
    }

    @Test("With cleanupInvalidTokens off, keeps the tokens that services reject")
    func keptTokens() async throws {
        try await PushFixture.run(PushSink.Manners(), ["cleanupInvalidTokens": false]) { server, _ in
            try await PushFixture.fill(server, 20)
            for token in ["dead01", "bad001"] { try await PushFixture.device(server, token) }
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numFailed"] == 2)
            let tokens = try await PushFixture.tokens(server)
            #expect(tokens.isSuperset(of: ["dead01", "bad001"]), "\(tokens.sorted())")
        }
    }

    @Test("Removing tokens during a push makes it skip no device")
    func pages() async throws {
        try await PushFixture.run(PushSink.Manners(), ["queueOptions": ["batchSize": 100]]) { server, sink in
            try await server.execute(
                """
                INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "deviceType", "deviceToken",
                    "appIdentifier", "installationId")
                SELECT 'd' || n, now() - interval '1 hour', now() - interval '1 hour', 'ios',
                    CASE WHEN n % 3 = 0 THEN 'dead' ELSE 'aaaa' END || n + 10000, 'app.one', 'i' || n
                FROM generate_series(1, 2000) n
                """)
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 1334 && row["numFailed"] == 666, "\(row.text)")
            #expect(sink.tokens.count == 2000 && Set(sink.tokens).count == 2000)
            let left = try await server.texts("SELECT count(\"deviceToken\")::text FROM \"_Installation\"")
            #expect(left == ["1334"])
        }
    }

    @Test("Installations with the same token get one notification per app")
    func sameToken() async throws {
        try await PushFixture.run { server, sink in
            try await server.execute(
                """
                INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "deviceType", "deviceToken",
                    "appIdentifier", "installationId")
                SELECT 'd' || n, now(), now(), 'ios', 'ab01', CASE n WHEN 3 THEN 'app.two' ELSE 'app.one' END, 'i' || n
                FROM generate_series(1, 3) n
                """)
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 2 && sink.tokens == ["ab01", "ab01"], "\(row.text)")
        }
    }

    @Test("Sends to the old device type applewatch, and lists audiences with unreadable queries")
    func oldRows() async throws {
        try await PushSink.run { sink in
            try await TestServer.run(["push": ["watchos": sink.apple("app.one")]]) { server in
                try await PushFixture.device(server, "ab01", "applewatch", ["appIdentifier": "app.one"])
                try await server.execute(
                    """
                    INSERT INTO "_Audience" ("objectId", "createdAt", "updatedAt", "name", "query")
                    VALUES ('broken', now(), now(), 'old', 'no JSON'), ('fine', now(), now(), 'new', '{"a":1}')
                    """)
                let row = try await PushFixture.push(
                    server, ["where": [:], "data": ["alert": "x"], "audience_id": "broken"])
                #expect(row["numSent"] == 1 && row["sentPerType"] == ["applewatch": 1], "\(row.text)")
                let list = try await server.send("GET", "/push_audiences?order=objectId", as: .master)
                #expect(list["results"]?.arrayValue?.map { $0["query"] } == [.null, ["a": 1]], "\(list.text)")
            }
        }
    }
}
