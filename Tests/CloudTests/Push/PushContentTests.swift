import Foundation
import JSON
import TestSupport
import Testing

/// The notifications that push services receive.
@Suite struct PushContentTests {
    @Test(
        "Converts data to APNs payloads as parse-server does, with Apple's own fields inside aps"
    )
    func payloads() async throws {
        let cases: [(data: JSONValue, payload: JSONValue)] = [
            (["title": "t", "alert": "x"], ["aps": ["alert": ["body": "x", "title": "t"]]]),
            (
                ["alert": ["body": "x", "loc-key": "k"], "title": "t"],
                ["aps": ["alert": ["body": "x", "loc-key": "k", "title": "t"]]]
            ),
            (
                [
                    "alert": "x", "category": "c", "threadId": "th", "mutable-content": 1,
                    "sound": ["critical": 1, "name": "n", "volume": 0.5], "interruptionLevel": "active",
                    "targetContentIdentifier": "i", "own": ["a": 1], "uri": "u",
                ],
                [
                    "own": ["a": 1], "uri": "u",
                    "aps": [
                        "alert": "x", "category": "c", "thread-id": "th", "mutable-content": 1,
                        "sound": ["critical": 1, "name": "n", "volume": 0.5], "interruption-level": "active",
                        "target-content-id": "i",
                    ],
                ]
            ),
            (["alert": "x", "mutable-content": "1"], ["aps": ["alert": "x"]]),
            (
                ["aps": ["alert": "a", "sound": "s", "own": 1], "alert": "x"],
                ["aps": ["alert": "x", "sound": "s", "own": 1]]
            ),
        ]
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "ab01")
            for (data, payload) in cases {
                sink.forget()
                _ = try await PushFixture.push(server, ["where": [:], "data": data])
                #expect(sink.notifications.map(\.body) == [payload], "\(data.text)")
            }
        }
    }

    @Test("Sends FCM the data that Parse's Android SDK reads, and notifications with FCM's field names")
    func shapeForFirebase() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "g1", "android")
            var ids: [JSONValue?] = []
            for _ in 0..<2 {
                sink.forget()
                _ = try await PushFixture.push(
                    server,
                    [
                        "where": [:], "notification": ["clickAction": "c", "channel_id": "n", "imageUrl": "i"],
                        "data": ["alert": "x", "title": "t", "badge": 3, "priority": 5, "own": ["a": 1]],
                    ])
                var message = try #require(sink.notifications.first?.body["message"]?.objectValue)
                let data = try #require(message["android"]?["data"]?.objectValue)
                #expect(
                    try JSONValue(parsing: Array((data["data"]?.stringValue ?? "").utf8))
                        == ["alert": "x", "title": "t", "own": ["a": 1]])
                #expect(data.count == 3 && data["time"]?.stringValue?.hasSuffix("Z") == true)
                ids.append(data["push_id"])
                var android = try #require(message["android"]?.objectValue)
                android["data"] = nil
                message["android"] = .object(android)
                #expect(
                    JSONValue.object(message) == [
                        "android": [
                            "priority": "high",
                            "notification": ["click_action": "c", "channel_id": "n", "image": "i"],
                        ], "token": "g1",
                    ])
            }
            #expect(ids[0] != nil && ids[1] != nil && ids[0] != ids[1])
        }
    }

    @Test("Sends rawPayload to FCM unchanged, and an apns block for Apple devices")
    func firebase() async throws {
        try await WebhookServer.run { tokens in
            tokens.on("token") { _ in .text(#"{"access_token":"access-1","expires_in":3599}"#) }
            try await PushSink.run { sink in
                let entry = sink.android(tokens: tokens.url("token"))
                try await TestServer.run(["push": ["android": entry, "ios": entry]]) { server in
                    try await PushFixture.device(server, "g1", "android")
                    _ = try await PushFixture.push(
                        server, ["where": [:], "rawPayload": ["notification": ["title": "t"]], "data": ["a": 1]])
                    #expect(
                        sink.notifications.map(\.body)
                            == [["message": ["notification": ["title": "t"], "token": "g1"]]])
                    sink.forget()
                    try await PushFixture.device(server, "ap1")
                    _ = try await PushFixture.push(
                        server,
                        [
                            "where": ["deviceType": "ios"], "priority": 5,
                            "data": ["alert": "x", "badge": 3, "own": 1],
                        ])
                    let apns = sink.notifications.first?.body["message"]?["apns"]
                    #expect(
                        apns?["payload"] == ["own": 1, "aps": ["alert": ["body": "x"], "badge": 3]],
                        "\(apns?.text ?? "")")
                    #expect(apns?["headers"]?["apns-priority"] == "5" && apns?["headers"]?["apns-push-type"] == "alert")
                }
            }
        }
    }
}
