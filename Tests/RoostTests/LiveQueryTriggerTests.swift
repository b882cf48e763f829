import Roost
import TestSupport
import Testing

@Suite struct LiveQueryTriggerTests {
    @Test("Triggers reject connections and subscriptions, restrict queries, and change and suppress events")
    func triggers() async throws {
        let options: JSONObject = ["liveQuery": ["classNames": ["Note"]], "startLiveQueryServer": true]
        try await CloudServer(options) { cloud in
            cloud.beforeConnect { request in
                if request.members["installationId"] == "bad" { throw ParseError(1337, "Not you.") }
            }
            cloud.beforeSubscribe("Note", requires: .user) { $0.query.filter["open"] = true }
            cloud.afterLiveQueryEvent("Note") { request in
                if request.object["text"] == "hidden" { request.isSent = false }
                request.object["text"] = .string(request.event)
            }
        }.run { server in
            let ann = try await server.signUp("ann")
            try await server.liveQuery { client in
                try await client.send([
                    "op": "connect", "applicationId": .string(TestServer.applicationID), "installationId": "bad",
                ])
                let refused = try await client.next()
                #expect(refused["code"] == 1337 && refused["error"] == "Not you.")
                try await client.connect()
                #expect(try await client.subscribe(1, "Note")["code"] == 142)
                try await client.subscribe(2, "Note", ["where": ["a": ["$gte": 1]]], sessionToken: ann.token)
                _ = try await server.create("Note", ["a": 1, "text": "closed"])
                _ = try await server.create("Note", ["a": 0, "open": true, "text": "small"])
                _ = try await server.create("Note", ["a": 1, "open": true, "text": "hidden"])
                _ = try await server.create("Note", ["a": 2, "open": true, "text": "seen"])
                let told = try await client.next()
                #expect(told["op"] == "create" && told["object"]?["a"] == 2 && told["object"]?["text"] == "create")
            }
        }
    }
}
