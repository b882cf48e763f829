import JSON
import TestSupport
import Testing

/// Limits on the cost of one live-query client, and its effect on others.
@Suite struct LiveQueryLimitTests {
    private static let options = TestServer.publishing("Note")

    @Test("Limits the subscriptions of a connection to a hundred session tokens")
    func sessions() async throws {
        try await TestServer.runLive(TestServer.publishing("Note")) { server, client in
            _ = try await server.create("Note", ["n": 1])
            let ann = try await server.signUp("ann")
            try await server.execute(
                """
                INSERT INTO "_Session" ("objectId", "createdAt", "updatedAt", "sessionToken", "user")
                SELECT 'session' || n, now(), now(), 'r:token' || n, '\(ann.id)' FROM generate_series(1, 101) AS n
                """)
            for number in 1...100 {
                let answer = try await client.subscribe(number, "Note", sessionToken: "r:token\(number)")
                #expect(answer["op"] == "subscribed", "\(answer)")
            }
            #expect(try await client.subscribe(101, "Note", sessionToken: "r:token101")["code"] == 155)
            #expect(try await client.subscribe(102, "Note", sessionToken: "r:token1")["op"] == "subscribed")
            // Ending a subscription makes room for another.
            try await client.send(["op": "unsubscribe", "requestId": 2])
            #expect(try await client.next()["op"] == "unsubscribed")
            #expect(try await client.subscribe(103, "Note", sessionToken: "r:token101")["op"] == "subscribed")
        }
    }

    @Test("Rolls back a client's transaction whose objects for live queries take too much memory")
    func largeTransaction() async throws {
        let options = Self.options.merging(["maxResponseSize": "800kb"]) { $1 }
        try await TestServer.runLive(options) { server, client in
            try await client.subscribe(1, "Note", ["keys": ["n"]])
            let text = JSONValue.string(String(repeating: "x", count: 30_000))
            let id = try await server.create("Note", ["n": 0, "text": text])
            let call: JSONValue = [
                "method": "PUT", "path": .string("/parse/classes/Note/\(id)"),
                "body": ["n": .increment(1)],
            ]
            for (count, identity, n) in [(10, .anonymous, 0), (1, .anonymous, 1), (10, .master, 11)]
                as [(Int, TestServer.Identity, JSONValue)]
            {
                let body: JSONValue = ["requests": .array(Array(repeating: call, count: count)), "transaction": true]
                let answer = try await server.send("POST", "/batch", body, as: identity)
                #expect(answer.code == (n == 0 ? 116 : nil), "\(count): \(answer.text)")
                #expect(try await server.send("GET", "/classes/Note/\(id)?keys=n")["n"] == n)
            }
        }
    }

    @Test("Disconnects a client that reads nothing, without delaying writers and other clients")
    func slowReader() async throws {
        let port = try await FreePort.find()
        let options = Self.options.merging(["metrics": ["port": .number(Double(port))]]) { $1 }
        try await TestServer.runLive(options) { server, client in
            try await client.subscribe(1, "Note", ["keys": ["number"]])
            try await server.liveQuery(readsAnswers: false) { slow in
                try await slow.send(["op": "connect", "applicationId": .string(TestServer.applicationID)])
                try await slow.send([
                    "op": "subscribe", "requestId": 1, "query": ["className": "Note", "where": [:]],
                ])
                // This client doesn't read the confirmation, so the test waits for the metric.
                let isSubscribed = try await eventually {
                    try await TestServer.metrics(at: port)["roost_live_query_subscriptions"] == 2
                }
                #expect(isSubscribed)
                let text = JSONValue.string(String(repeating: "x", count: 400_000))
                for number in 0..<100 {
                    _ = try await server.create("Note", ["number": .number(Double(number)), "text": text])
                    #expect(try await client.next()["object"]?["number"] == .number(Double(number)))
                }
                // The server has dropped the client, so its messages eventually fail.
                let isGone = try await eventually(within: .seconds(40)) {
                    do {
                        try await slow.send(["op": "unsubscribe", "requestId": 5])
                        return false
                    } catch { return true }
                }
                #expect(isGone)
            }
        }
    }

    @Test("Limits the number and total size of a connection's subscriptions; unsubscribing makes room")
    func subscriptions() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let large: JSONObject = ["where": ["text": .string(String(repeating: "x", count: 300_000))]]
            for id in 1...3 { #expect(try await client.subscribe(id, "Note", large)["op"] == "subscribed") }
            let refused = try await client.subscribe(4, "Note", large)
            #expect(refused["code"] == 155 && refused["requestId"] == 4, "\(refused.text)")
            try await client.send(["op": "unsubscribe", "requestId": 1])
            #expect(try await client.next()["op"] == "unsubscribed")
            #expect(try await client.subscribe(4, "Note", large)["op"] == "subscribed")
            for id in 2...4 {
                try await client.send(["op": "unsubscribe", "requestId": .number(Double(id))])
                #expect(try await client.next()["op"] == "unsubscribed")
            }
            for id in 1...1000 { #expect(try await client.subscribe(id, "Note")["op"] == "subscribed") }
            #expect(try await client.subscribe(1001, "Note")["code"] == 155)
            _ = try await server.create("Note", ["number": 1])
            #expect(Set(try await client.next(1000).map { $0["requestId"] }).count == 1000)
        }
    }

    @Test("Ends subscriptions whose conditions are too expensive with code 124; other clients continue")
    func heavyConditions() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Note")
            try await server.liveQuery { heavy in
                try await heavy.connect()
                let pattern: JSONValue = ["text": ["$regex": "(a|aa|aaa|b|c)*(x|y|z){1,20}q"]]
                for id in 1...100 { try await heavy.subscribe(id, "Note", ["where": pattern]) }
                _ = try await server.create("Note", ["text": .string(String(repeating: "a", count: 100_000))])
                #expect(try await client.next()["op"] == "create")
                let ended = try await heavy.next(100)
                #expect(ended.allSatisfy { $0["op"] == "error" && $0["code"] == 124 })
                #expect(Set(ended.map { $0["requestId"] }).count == 100)
                // The client's other subscriptions still work.
                try await heavy.subscribe(1, "Note", ["where": ["a": 1]])
                _ = try await server.create("Note", ["a": 1])
                #expect(try await heavy.next()["object"]?["a"] == 1)
            }
        }
    }

    @Test("Limits the size of subscriptions sent before connect; unsubscribing makes room")
    func earlyRoom() async throws {
        try await TestServer.run(Self.options) { server in
            try await server.liveQuery { client in
                func subscribe(_ id: Int, _ length: Int) async throws {
                    let text = JSONValue.string(String(repeating: "x", count: length))
                    try await client.send([
                        "op": "subscribe", "requestId": .number(Double(id)),
                        "query": ["className": "Note", "where": ["text": text]],
                    ])
                }
                for id in 1...3 { try await subscribe(id, 30_000) }
                let refused = try await client.next()
                #expect(refused["code"] == 2 && refused["requestId"] == 3, "\(refused.text)")
                try await client.send(["op": "unsubscribe", "requestId": 1])
                try await subscribe(4, 30_000)
                try await client.connect()
                #expect(try await client.next(2).map { $0["requestId"] } == [2, 4])
                _ = try await server.create("Note", ["text": .string(String(repeating: "x", count: 30_000))])
                #expect(try await client.next(2).map { $0["op"] } == ["create", "create"])
            }
        }
    }

    @Test("Disconnects a client that floods, or sends a long message before connect, but no others")
    func floods() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            try await client.subscribe(1, "Note")
            try await server.liveQuery { flood in
                for _ in 0..<4_000 { do { try await flood.send(text: #"{"op":"x"}"#) } catch { break } }
                let isClosed = try await flood.isClosed()
                #expect(isClosed)
            }
            try await server.liveQuery { stranger in
                try await stranger.send(text: String(repeating: " ", count: 65_537))
                let isClosed = try await stranger.isClosed()
                #expect(isClosed)
            }
            _ = try await server.create("Note", ["number": 1])
            #expect(try await client.next()["op"] == "create")
        }
    }

    @Test(
        "Rejects an installationId or sessionToken longer than 1024 bytes",
        arguments: ["installationId", "sessionToken"])
    func longNames(key: String) async throws {
        try await TestServer.run(Self.options) { server in
            try await server.liveQuery { client in
                func connect(_ length: Int) async throws -> JSONObject {
                    try await client.send([
                        "op": "connect", "applicationId": .string(TestServer.applicationID),
                        Name(key): .string(String(repeating: "x", count: length)),
                    ])
                    return try await client.next()
                }
                let refused = try await connect(1025)
                #expect(refused["op"] == "error" && refused["code"] == 1, "\(refused.text)")
                #expect(try await connect(1024)["op"] == "connected")
            }
        }
    }

    @Test("Counts expanded regex repetitions toward the limits of a condition and of a connection")
    func repetitions() async throws {
        try await TestServer.runLive(Self.options) { server, client in
            let pattern: JSONValue = ["objectId": ["$regex": "(b{255}){38}"]]
            // With and without a readable class.
            for name in ["_User", "Note"] {
                let refused = try await client.subscribe(
                    0, name, ["where": ["$or": .array(Array(repeating: pattern, count: 4000))]])
                #expect(refused["code"] == 102, "\(refused.text)")
                for id in 1...4 {
                    #expect(try await client.subscribe(id, name, ["where": pattern])["op"] == "subscribed")
                }
                #expect(try await client.subscribe(5, name, ["where": pattern])["code"] == 155)
                for id in 1...4 {
                    try await client.send(["op": "unsubscribe", "requestId": .number(Double(id))])
                    #expect(try await client.next()["op"] == "unsubscribed")
                }
            }
        }
    }

    @Test("Fifty clients each receive a hundred changes in order")
    func many() async throws {
        try await TestServer.run(Self.options) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
                for _ in 0..<50 {
                    group.addTask {
                        try await server.liveQuery { client in
                            try await client.connect()
                            try await client.subscribe(1, "Note")
                            isReady.yield()
                            let numbers = try await client.next(100).map { $0["object"]?["number"]?.numberValue }
                            #expect(numbers == (0..<100).map { Double($0) })
                        }
                    }
                }
                var iterator = ready.makeAsyncIterator()
                for _ in 0..<50 { _ = await iterator.next() }
                for number in 0..<100 { _ = try await server.create("Note", ["number": .number(Double(number))]) }
                try await group.waitForAll()
            }
        }
    }
}
