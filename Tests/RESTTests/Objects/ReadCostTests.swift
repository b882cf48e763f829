import JSON
import Logging
import Postgres
import TestSupport
import Testing

/// The effect of expensive finds on the gets of other clients.
@Suite struct ReadCostTests {
    /// Creates a class with rows of a given size in bytes.
    private static func fill(_ server: TestServer, rows: Int, bytes: Int) async throws -> String {
        let id = try await server.create("Post", ["text": "", "rank": 0.5])
        let client = PostgresClient(
            configuration: PostgresConfiguration(connectionString: server.databaseURI), logger: Logger(label: "test"))
        _ = try await client.query(
            """
            INSERT INTO "Post" ("objectId", "createdAt", "updatedAt", "text", "rank")
            SELECT 'p' || i, now(), now(), repeat(md5(i::text), \(bytes / 32)), random() FROM generate_series(1, \(rows)) AS i
            """)
        await client.shutdown()
        return id
    }

    /// The third quartile of the durations of consecutive gets. Slower ones only show the machine's load.
    private static func usualGet(_ server: TestServer, _ id: String) async throws -> Duration {
        var times: [Duration] = []
        while times.count < 40 {
            let start = ContinuousClock.now
            #expect(try await server.send("GET", "/classes/Post/\(id)").status == 200)
            times.append(ContinuousClock.now - start)
            try await Task.sleep(for: .milliseconds(10))
        }
        return times.sorted()[30]
    }

    @Test("Concurrent finds of many megabytes all succeed without delaying gets much")
    func largeFinds() async throws {
        try await TestServer.run { server in
            let id = try await Self.fill(server, rows: 3000, bytes: 2048)
            let alone = try await Self.usualGet(server, id)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<24 {
                    group.addTask {
                        let reply = try await server.find("Post", ["limit": 100_000, "order": "rank"])
                        #expect(reply.results.count == 3001)
                    }
                }
                let beside = try await Self.usualGet(server, id)
                #expect(beside < alone * 10 + .seconds(1), "\(beside), alone \(alone)")
                try await group.waitForAll()
            }
        }
    }

    @Test("A batch of finds of many megabytes returns all results")
    func largeBatch() async throws {
        try await TestServer.run { server in
            _ = try await Self.fill(server, rows: 1000, bytes: 4096)
            let find: JSONValue = ["method": "GET", "path": "/parse/classes/Post?limit=100000"]
            let reply = try await server.send("POST", "/batch", ["requests": .array(Array(repeating: find, count: 8))])
            #expect(reply.status == 200)
            let answers = try #require(reply.json.arrayValue)
            #expect(answers.count == 8)
            for answer in answers { #expect(answer["success"]?["results"]?.arrayValue?.count == 1001) }
        }
    }

    @Test("Unindexed sorts, deep skips and long lists of disconnecting clients don't delay gets much")
    func slowFinds() async throws {
        try await TestServer.run { server in
            let id = try await Self.fill(server, rows: 60_000, bytes: 64)
            let alone = try await Self.usualGet(server, id)
            let list = JSONValue.array((0..<20_000).map { .string("v\($0)") })
            let tasks = (0..<48).map { number in
                Task {
                    let parameters: JSONObject =
                        switch number % 3 {
                        case 0: ["order": "text,rank", "limit": 1, "skip": .number(Double(number))]
                        case 1: ["skip": 59_000, "limit": 1, "order": "-rank"]
                        default: ["where": ["text": ["$nin": list]], "limit": 1, "order": "rank"]
                        }
                    return try await server.find("Post", parameters)
                }
            }
            let beside = try await Self.usualGet(server, id)
            #expect(beside < alone * 10 + .seconds(1), "\(beside), alone \(alone)")
            for task in tasks.dropFirst(6) { task.cancel() }
            for task in tasks.prefix(6) { #expect([200, 503].contains(try await task.value.status)) }
            for task in tasks { _ = try? await task.value }
        }
    }
}
