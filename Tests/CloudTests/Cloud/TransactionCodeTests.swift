import JSON
import TestSupport
import Testing

/// Cloud code is not called while a transaction holds its connection and locks.
@Suite struct TransactionCodeTests {
    private static func batch(_ server: TestServer, _ requests: [JSONValue]) async throws -> TestAnswer {
        try await server.send(
            "POST", "/batch", ["requests": .array(requests), "transaction": true], as: .master)
    }

    @Test("After a transaction, afterDelete runs for every object even if one call fails")
    func failingAfterwards() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let ids = [try await server.create("Song", ["a": 1]), try await server.create("Song", ["a": 2])]
                try await hooks.trigger("afterDelete", "Song", on: server) { call in
                    call["object"]?["a"] == 1 ? .error("no") : .nothing
                }
                _ = try await Self.batch(
                    server, ids.map { ["method": "DELETE", "path": .string("/parse/classes/Song/\($0)")] })
                #expect(hooks.calls.count == 2)
                #expect(try await server.texts("SELECT \"objectId\" FROM \"Song\"").isEmpty)
            }
        }
    }

    @Test("A transaction rejects reads and config changes that have triggers")
    func refused() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let id = try await server.create("Song", ["a": 1])
                let holder = try await server.create("List", ["song": .pointer("Song", id)])
                let save: JSONValue = [
                    "method": "PUT", "path": .string("/parse/classes/Song/\(id)"), "body": ["a": 2],
                ]
                let reads: [JSONValue] = [
                    ["method": "GET", "path": .string("/parse/classes/Song/\(id)")],
                    ["method": "GET", "path": "/parse/classes/Song"],
                    ["method": "GET", "path": .string("/parse/classes/List/\(holder)"), "body": ["include": "song"]],
                    ["method": "PUT", "path": "/parse/config", "body": ["params": ["p": 1]]],
                ]
                for read in reads { #expect(try await Self.batch(server, [save, read]).status == 200) }
                for event in ["beforeFind", "afterFind"] {
                    try await hooks.trigger(event, "Song", on: server) { _ in .nothing }
                }
                try await hooks.trigger("beforeSave", "@Config", on: server) { _ in .nothing }
                for read in reads {
                    let answer = try await Self.batch(
                        server,
                        [["method": "PUT", "path": .string("/parse/classes/Song/\(id)"), "body": ["a": 3]], read])
                    #expect(answer.code == 107, "\(read): \(answer.text)")
                }
                #expect(hooks.calls.isEmpty)
                #expect(try await server.texts("SELECT a::text FROM \"Song\"") == ["2"])
            }
        }
    }

    @Test("A client's transaction stops calling triggers and rolls back if its objects take too much memory")
    func largeObjects() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["maxResponseSize": "400kb"]) { server in
                try await hooks.trigger("beforeSave", "Song", on: server) { _ in .nothing }
                let text = JSONValue.string(String(repeating: "x", count: 30_000))
                var requests: [JSONValue] = []
                for _ in 0..<6 {
                    let id = try await server.create("Song", ["text": text, "a": 0])
                    requests.append(["method": "PUT", "path": .string("/parse/classes/Song/\(id)"), "body": ["a": 1]])
                }
                let before = hooks.calls.count
                let body: JSONValue = ["requests": .array(requests), "transaction": true]
                let refused = try await server.send("POST", "/batch", body)
                #expect(refused.code == 116, "\(refused.text)")
                #expect(hooks.calls.count == before + 4)
                #expect(try await server.texts("SELECT a::text FROM \"Song\" GROUP BY a") == ["0"])
                // Two requests, or six with the master key, are within the limits.
                let two: JSONValue = ["requests": .array(Array(requests.prefix(2))), "transaction": true]
                #expect(try await server.send("POST", "/batch", two).status == 200)
                #expect(try await Self.batch(server, requests).status == 200)
                #expect(try await server.texts("SELECT a::text FROM \"Song\" GROUP BY a") == ["1"])
            }
        }
    }
}
