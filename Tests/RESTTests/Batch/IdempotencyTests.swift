import JSON
import TestSupport
import Testing

/// Requests with an id run only once.
@Suite struct IdempotencyTests {
    private static let options: JSONObject = [
        "idempotencyOptions": ["paths": ["classes/Note", "functions/.*", "users", "installations"], "ttl": 60]
    ]

    private static func headers(_ id: String, _ client: String? = nil) -> [String: String] {
        var headers = ["X-Parse-Request-Id": id]
        headers["X-Parse-Client-Version"] = client
        return headers
    }

    @Test("Rejects a repeated request id with 159, but only on the configured paths")
    func duplicates() async throws {
        try await TestServer.run(Self.options) { server in
            let id = try await server.create("Note", ["n": 0])
            let other = try await server.create("Other", ["n": 0])
            let calls: [(String, String, JSONValue, Int)] = [
                ("POST", "/classes/Note", ["n": 1], 159), ("PUT", "/classes/Note/\(id)", ["n": .increment(1)], 159),
                ("POST", "/classes/Other", ["n": 1], 201), ("PUT", "/classes/Other/\(other)", ["n": 1], 200),
                ("POST", "/installations", ["deviceType": "ios", "installationId": "i"], 159),
                ("POST", "/users", ["username": "kim", "password": "secret"], 159),
                ("POST", "/functions/f", [:], 159), ("POST", "/login", ["username": "kim", "password": "secret"], 200),
            ]
            for (number, (method, path, body, second)) in calls.enumerated() {
                let headers = Self.headers("request-\(number)")
                let first = try await server.send(method, path, body, headers: headers)
                #expect(first.code == nil || first.code == 141, "\(path): \(first.text)")
                let again = try await server.send(method, path, body, headers: headers)
                #expect((again.code ?? again.status) == second, "\(path): \(again.text)")
            }
            #expect(try await server.send("GET", "/classes/Note/\(id)")["n"] == 1)
            #expect(
                try await server.send("GET", "/classes/Note/\(id)", headers: Self.headers("request-0")).status == 200)
            #expect(try await server.send("POST", "/classes/Note", ["n": 1], headers: Self.headers("")).status == 201)
        }
    }

    @Test("Matches the configured paths in any spelling of a route")
    func spellings() async throws {
        try await TestServer.run(Self.options) { server in
            for (number, path) in ["/Classes/Note", "/classes//Note/", "/cl%61sses/N%6Fte", "/USERS"].enumerated() {
                let headers = Self.headers("spelling-\(number)")
                let body: JSONValue = ["username": "kim", "password": "secret"]
                let first = try await server.send("POST", path, body, headers: headers)
                let second = try await server.send("POST", path, body, headers: headers)
                #expect(first.status == 201 && second.code == 159, "\(path)")
            }
        }
    }

    @Test("Serves only one of 20 concurrent requests with the same id")
    func race() async throws {
        try await TestServer.run(Self.options) { server in
            let answers = try await concurrently(20) { _ in
                try await server.send("POST", "/classes/Note", ["n": 1], headers: Self.headers("one"))
            }
            #expect(answers.filter { $0.status == 201 }.count == 1)
            #expect(answers.filter { $0.code == 159 }.count == 19)
            #expect(try await server.find("Note").results.count == 1)
        }
    }

    @Test("An expired request id can be used again, and expired ids are deleted")
    func expiry() async throws {
        try await TestServer.run(Self.options) { server in
            _ = try await server.send("POST", "/classes/Note", ["n": 1], headers: Self.headers("old")).succeeded()
            try await server.execute(
                """
                UPDATE "_Idempotency" SET "expire" = now() - interval '1 second';
                INSERT INTO "_Idempotency" ("objectId", "reqId", "expire")
                SELECT 'old' || n, 'old' || n, now() - interval '1 minute' FROM generate_series(1, 100) AS n;
                """)
            _ = try await server.send("POST", "/classes/Note", ["n": 1], headers: Self.headers("old")).succeeded()
            #expect(try await server.send("POST", "/classes/Note", ["n": 1], headers: Self.headers("old")).code == 159)
            // Each request deletes a part of the expired ids, so that none has to wait for all of them.
            var left = 100
            for number in 0..<100 where left > 0 {
                _ = try await server.send("POST", "/classes/Note", ["n": 1], headers: Self.headers("new\(number)"))
                    .succeeded()
                let rows = try await server.rows("SELECT count(*)::text FROM \"_Idempotency\" WHERE \"expire\" < now()")
                left = Int(rows[0][0] ?? "") ?? -1
            }
            #expect(left == 0)
            #expect(
                try await server.rows("SELECT \"reqId\" FROM \"_Idempotency\" WHERE \"reqId\" = 'old'") == [["old"]])
        }
    }

    @Test("Ignores the request ids of SDKs that send the same id for the life of a process")
    func oldClients() async throws {
        try await TestServer.run(Self.options) { server in
            // The client version, and whether its request ids count.
            let clients: [(String, Bool)] = [
                ("i1.19.0", false), ("osx1.19.0", false), ("apple-tvos1.19.0", false), ("ios-swift4.14.2", true),
                ("js5.0.0", true), ("a1.20.0", true), ("unknown", true),
            ]
            for (client, counts) in clients {
                let headers = Self.headers("process-\(client)", client)
                _ = try await server.send("POST", "/classes/Note", ["n": 1], headers: headers).succeeded()
                let again = try await server.send("POST", "/classes/Note", ["n": 1], headers: headers)
                #expect((again.code == 159) == counts, "\(client): \(again.text)")
                let call = Self.headers("function-\(client)", client)
                #expect(try await server.send("POST", "/functions/f", [:], headers: call).code == 141)
                let secondCall = try await server.send("POST", "/functions/f", [:], headers: call)
                #expect(secondCall.code == (counts ? 159 : 141), "\(client): \(secondCall.text)")
            }
        }
    }
}
