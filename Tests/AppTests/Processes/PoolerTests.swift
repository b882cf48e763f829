import JSON
import TestSupport
import Testing

/// What holds behind a pooler that lends a session of the server for one transaction at a time.
@Suite("Behind a pooler of transactions")
struct PoolerTests {
    private static let options: JSONObject = [
        "databaseOptions": ["transactionPooler": true, "sharedConnections": 4],
        "schema": [
            "definitions": [
                [
                    "className": "Song", "fields": ["title": ["type": "String"], "n": ["type": "Number"]],
                    "indexes": ["byTitle": ["title": 1]],
                    "classLevelPermissions": ["find": ["*": true], "count": ["*": true], "create": ["*": true]],
                ]
            ]
        ],
    ]

    @Test("Servers share few sessions: objects, users, batches, transactions and declared classes are what they are")
    func serves() async throws {
        try await TestServer.withDatabase { uri in
            try await Pooler.run(before: uri, sessions: 6) { pooled in
                try await TestServer.run(on: pooled, Self.options) { server in
                    let made = try await withThrowingTaskGroup(of: String.self) { tasks in
                        for number in 0..<60 {
                            tasks.addTask {
                                let song: JSONValue = ["title": .string("s\(number)"), "n": .number(Double(number))]
                                return try await server.send("POST", "/classes/Song", song).text
                            }
                        }
                        return try await tasks.reduce(into: [String]()) { $0.append($1) }
                    }
                    #expect(made.filter { $0.contains("objectId") }.count == 60, "\(made[0])")
                    let user = try await server.send(
                        "POST", "/users", ["username": "lena", "password": "secret"])
                    #expect(user.status == 201)
                    let call: JSONValue = ["method": "POST", "path": "/parse/classes/Song", "body": ["n": 1]]
                    let calls: JSONValue = .array(Array(repeating: call, count: 5))
                    let batch = try await server.send(
                        "POST", "/batch", ["requests": calls, "transaction": true])
                    #expect(batch.status == 200, "\(batch.text)")
                    // Another process learns of a field without being told.
                    try await server.alongside(Self.options) { other in
                        #expect(
                            try await server.send("POST", "/classes/Song", ["extra": 1], as: .master).status == 201)
                        #expect(
                            try await eventually {
                                try await other.send("GET", "/schemas/Song", as: .master)["fields"]?["extra"] != nil
                            })
                        let found = try await other.send("GET", "/classes/Song?limit=0&count=1")
                        #expect(found["count"] == 66)
                    }
                }
            }
        }
    }
}
