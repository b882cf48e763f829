import JSON
import TestSupport
import Testing

/// Clients of one process receive the changes made through another.
@Suite struct LiveQueryRelayTests {
    private static let options = TestServer.publishing("Note")

    @Test("Receives small and large changes from another process once each, and the end of a session")
    func relay() async throws {
        try await TestServer.run(Self.options) { server in
            // The other process accepts no live-query connections.
            try await server.alongside(["liveQuery": ["classNames": ["Note"]]]) { other in
                let ann = try await server.signUp("ann")
                try await server.liveQuery { client in
                    try await client.connect(sessionToken: ann.token)
                    try await client.subscribe(1, "Note", ["where": ["done": ["$exists": false]]])
                    // The other process needs a moment to learn that somebody listens.
                    var (made, seen) = (0.0, 0.0)
                    let isConnected = try await eventually {
                        made += 1
                        _ = try await other.create("Note", ["probe": .number(made)])
                        seen =
                            (try? await client.next(within: .milliseconds(500)))?["object"]?["probe"]?.numberValue ?? 0
                        return seen > 0
                    }
                    #expect(isConnected)
                    // From then on, no event is lost.
                    while seen < made { seen = try await client.next()["object"]?["probe"]?.numberValue ?? made }
                    let text = String(repeating: "é€𝄞\u{301} ", count: 20_000)
                    let id = try await other.create("Note", ["number": 1, "text": .string(text)])
                    _ = try await server.create("Note", ["number": 2])
                    _ = try await other.send("PUT", "/classes/Note/\(id)", ["done": true]).succeeded()
                    var events: [JSONObject] = []
                    while events.count < 3 { events.append(try await client.next()) }
                    let large = try #require(events.first { $0["op"] == "create" && $0["object"]?["number"] == 1 })
                    #expect(large["object"]?["text"] == .string(text))
                    #expect(events.contains { $0["op"] == "create" && $0["object"]?["number"] == 2 })
                    #expect(events.contains { $0["op"] == "leave" && $0["original"]?["text"] == .string(text) })
                    _ = try await other.send("POST", "/logout", as: .session(ann.token)).succeeded()
                    let told = try await client.next()
                    #expect(told["code"] == 209, "\(told.text)")
                    #expect(try await client.isClosed())
                }
            }
        }
    }
}
