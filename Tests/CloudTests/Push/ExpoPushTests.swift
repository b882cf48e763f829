import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Pushes through a stand-in for Expo's service.
@Suite struct ExpoPushTests {
    @Test("Sends Expo up to 100 messages per call, removes unknown devices, and retries if it is busy")
    func expo() async throws {
        try await WebhookServer.run { expo in
            let isFirst = Once()
            expo.on("--/api/v2/push/send") { call in
                if isFirst.take() { return .text("", status: 503, headers: [("Retry-After", "1")]) }
                let tickets = (call.body.arrayValue ?? []).map { message -> JSONValue in
                    message["to"] == "t3"
                        ? ["status": "error", "message": "x", "details": ["error": "DeviceNotRegistered"]]
                        : ["status": "ok", "id": "1"]
                }
                return .text(JSONValue.object(["data": .array(tickets)]).text)
            }
            let entry: JSONValue = [
                "accessToken": "secret", "endpoint": .string(String(expo.url("").dropLast())),
            ]
            try await TestServer.run(["push": ["expo": entry]]) { server in
                for number in 0..<250 { try await PushFixture.device(server, "t\(number)", "expo") }
                let row = try await PushFixture.push(
                    server, ["where": [:], "data": ["alert": "hello", "title": "t"]])
                #expect(row["numSent"] == 249 && row["numFailed"] == 1, "\(row.text)")
                let left = try await PushFixture.tokens(server)
                #expect(left.count == 249 && !left.contains("t3"))
                let calls = expo.calls("--/api/v2/push/send")
                // On a busy machine, devices that are read late are sent in a separate call.
                #expect(calls.count >= 4 && calls.allSatisfy { $0.headers["authorization"] == "Bearer secret" })
                #expect(calls.allSatisfy { ($0.body.arrayValue ?? []).count <= 100 })
                let message = try #require(calls[1].body.arrayValue?.first)
                #expect(message["body"] == "hello" && message["title"] == "t" && message["to"] != nil)
            }
        }
    }

    @Test("A push that expires in the queue isn't sent to Expo")
    func expired() async throws {
        try await WebhookServer.run { expo in
            expo.on("--/api/v2/push/send") { _ in .text(#"{"data":[{"status":"ok","id":"1"}]}"#) }
            let entry: JSONValue = ["endpoint": .string(String(expo.url("").dropLast()))]
            try await TestServer.run(["push": ["expo": entry, "queueOptions": ["disablePushWorker": true]]]) { server in
                try await PushFixture.device(server, "t1", "expo")
                let answer = try await server.send(
                    "POST", "/push", ["where": [:], "data": ["alert": "x"], "expiration_interval": 3600], as: .master)
                let id = try #require(answer.headers["x-parse-push-status-id"])
                // Simulates a push that expired while it waited for others.
                try await server.execute(
                    """
                    INSERT INTO "_roost_push_range" ("pushId", "offset", "route", "number", "devices")
                    SELECT '\(id)', '', 'expo', 0, array_agg("objectId") FROM "_Installation";
                    DELETE FROM "_roost_push_part";
                    UPDATE "_roost_push" SET "expiry" = 1000;
                    UPDATE "_PushStatus" SET "status" = 'running', "count" = 1;
                    """)
                try await server.alongside(["push": ["expo": entry]]) { _ in
                    let row = try await PushFixture.row(server, id)
                    #expect(row["numSent"] == 0 && row["numFailed"] == 1, "\(row.text)")
                    let failures = try await PushFixture.failures(server, row)
                    #expect(failures == ["i-t1": "expired before it could be sent"])
                }
                #expect(expo.calls("--/api/v2/push/send").isEmpty)
            }
        }
    }

    @Test(
        "If a foreign token makes Expo reject its whole batch, only devices with invalid tokens fail"
    )
    func foreignTokens() async throws {
        try await WebhookServer.run { expo in
            expo.on("--/api/v2/push/send") { call in
                let tokens = (call.body.arrayValue ?? []).compactMap { $0["to"]?.stringValue }
                if tokens.contains(where: { $0.hasPrefix("other") }) {
                    return .text(#"{"errors":[{"code":"PUSH_TOO_MANY_EXPERIENCE_IDS"}]}"#, status: 400)
                }
                let tickets = tokens.map { token -> JSONValue in
                    token == "keyless"
                        ? ["status": "error", "details": ["error": "InvalidCredentials"]] : ["status": "ok", "id": "1"]
                }
                return .text(JSONValue.object(["data": .array(tickets)]).text)
            }
            let entry: JSONValue = ["endpoint": .string(String(expo.url("").dropLast()))]
            try await TestServer.run(["push": ["expo": entry]]) { server in
                for number in 0..<60 { try await PushFixture.device(server, "t\(number)", "expo") }
                for token in ["other1", "other2", "keyless"] { try await PushFixture.device(server, token, "expo") }
                for _ in 0..<2 {
                    let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
                    #expect(row["numSent"] == 60 && row["numFailed"] == 3, "\(row.text)")
                    let reasons = try await PushFixture.failures(server, row)
                    #expect(
                        reasons == [
                            "i-other1": "status 400", "i-other2": "status 400", "i-keyless": "InvalidCredentials",
                        ])
                }
            }
        }
    }
}

private final class Once: Sendable {
    private let isTaken = Mutex(false)

    func take() -> Bool {
        isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}
