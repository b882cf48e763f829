import JSON
import TestSupport
import Testing

/// Webhooks of live-query triggers: their calls, and rejections.
@Suite struct LiveQueryWebhookTests {
    private static let options = TestServer.publishing("Note")

    @Test("Webhooks receive connections, subscriptions and events without keys, and can reject them")
    func webhooks() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(Self.options) { server in
                let ann = try await server.signUp("ann")
                try await hooks.trigger("beforeConnect", "@Connect", on: server) { call in
                    call["installationId"] == "bad" ? .error("Not you.") : .success(.null)
                }
                try await hooks.trigger("beforeSubscribe", "Note", on: server) { call in
                    call["query"]?["where"]?["a"] == 2 ? .error("Not this.") : .success(.null)
                }
                try await hooks.trigger("afterEvent", "Note", on: server) { call in
                    call["object"]?["a"] == 3 ? .error("Not now.") : .success(.null)
                }
                try await server.liveQuery { client in
                    try await client.send([
                        "op": "connect", "applicationId": .string(TestServer.applicationID), "installationId": "bad",
                    ])
                    let refused = try await client.next()
                    #expect(refused["code"] == 141 && refused["error"] == "Not you.")
                    try await client.connect(sessionToken: ann.token)
                    #expect(try await client.subscribe(1, "Note", ["where": ["a": 2]])["error"] == "Not this.")
                    try await client.subscribe(2, "Note")
                    _ = try await server.create("Note", ["a": 3])
                    _ = try await server.create("Note", ["a": 4])
                    let told = try await client.next(2)
                    #expect(told[0]["op"] == "error" && told[0]["error"] == "Not now." && told[0]["requestId"] == 2)
                    #expect(told[1]["op"] == "create" && told[1]["object"]?["a"] == 4)
                }
                let calls = hooks.calls
                #expect(calls.count == 6)
                for call in calls {
                    #expect(call["headers"] == nil && call["master"] == nil)
                    #expect(call["useMasterKey"] != true)
                }
                #expect(calls[1]["event"] == "connect" && calls[1]["user"]?["objectId"]?.stringValue == ann.id)
                #expect(calls[2]["query"]?["className"] == "Note")
                #expect(calls[2]["op"] == "subscribe" && calls[2]["requestId"] == 1)
                #expect(calls[4]["event"] == "create" && calls[4]["sendEvent"] == true && calls[4]["clients"] == 1)
                #expect(calls[4]["object"]?["className"] == "Note" && calls[4]["subscriptions"] == 1)
            }
        }
    }
}
