import JSON
import TestSupport
import Testing

/// Rate limits that several processes share through PostgreSQL.
@Suite struct RateLimitStoreTests {
    private static func options(_ count: Int, _ more: JSONObject = [:]) -> JSONObject {
        let limit: JSONObject = [
            "requestPath": "/classes/Shared", "requestTimeWindow": 3_600_000,
            "requestCount": .number(Double(count)), "includeInternalRequests": true,
        ]
        return ["rateLimitStore": "database", "rateLimit": [.object(limit.merging(more) { $1 })]]
    }

    @Test("Two servers on one database share a limit exactly under parallel requests")
    func together() async throws {
        try await TestServer.run(Self.options(20)) { server in
            try await server.alongside(Self.options(20)) { other in
                let answers = try await concurrently(60) { number in
                    try await (number % 2 == 0 ? server : other).send("GET", "/classes/Shared")
                }
                #expect(answers.count { $0.status == 200 } == 20)
                let refused = answers.filter { $0.status == 429 }
                #expect(refused.count == 40)
                #expect(
                    refused.allSatisfy { $0.code == 100 && ($0.headers["retry-after"].flatMap { Int($0) } ?? 0) > 3000 }
                )
                // Requests of a client that a process knows to be over the limit are not counted further.
                let counted = try await server.texts("SELECT requests::text FROM _roost_request_count")
                #expect(counted.compactMap { Int($0) }.allSatisfy { (21...60).contains($0) } && counted.count == 1)
            }
        }
    }

    @Test("Counts restart when the window ends, and each batch element counts")
    func windows() async throws {
        try await TestServer.run(Self.options(2)) { server in
            let call: JSONValue = ["method": "POST", "path": "/parse/classes/Shared", "body": ["n": 1]]
            func end(in seconds: Int) async throws {
                try await server.execute("UPDATE _roost_request_count SET until = now() + interval '\(seconds) s'")
            }
            #expect(try await server.send("POST", "/batch", ["requests": [call, call]]).status == 200)
            try await end(in: 0)
            #expect(try await server.send("POST", "/batch", ["requests": [call, call]]).status == 200)
            // At the end of the window, rejected requests are allowed again.
            try await end(in: 1)
            let isServed = try await eventually { try await server.send("GET", "/classes/Shared").status == 200 }
            #expect(isServed)
            #expect(try await server.send("POST", "/batch", ["requests": [call, call]]).status == 429)
            #expect(try await server.send("GET", "/classes/Shared").status == 429)
        }
    }

    @Test("Counts identical limits separately and recreates a dropped table")
    func robust() async throws {
        let options = Self.options(2)
        let limit = options["rateLimit"]?.arrayValue?.first ?? .null
        try await TestServer.run(options.merging(["rateLimit": [limit, limit]]) { $1 }) { server in
            #expect(try await server.send("GET", "/classes/Shared").status == 200)
            try await server.execute("DROP TABLE _roost_request_count")
            for status in [200, 200, 429] {
                #expect(try await server.send("GET", "/classes/Shared").status == status)
            }
            #expect(try await server.texts("SELECT requests::text FROM _roost_request_count") == ["3", "3"])
        }
    }

    @Test("Counts each session separately, under a 32-byte hash instead of its token")
    func sessions() async throws {
        try await TestServer.run(Self.options(1, ["zone": "session"])) { server in
            for name in ["anna", "bert"] {
                let user = try await server.signUp(name)
                #expect(try await server.send("GET", "/classes/Shared", as: .session(user.token)).status == 200)
                #expect(try await server.send("GET", "/classes/Shared", as: .session(user.token)).status == 429)
            }
            let keys = try await server.texts("SELECT length(key)::text FROM _roost_request_count")
            #expect(keys == ["32", "32"])
        }
    }

    @Test("Creates an unlogged table only if rateLimitStore is database, and deletes expired counts at startup")
    func table() async throws {
        let isThere = "SELECT relpersistence::text FROM pg_class WHERE relname = '_roost_request_count'"
        try await TestServer.run { server in
            #expect(try await server.texts(isThere).isEmpty)
            try await server.alongside(Self.options(5)) { other in
                #expect(try await other.texts(isThere) == ["u"])
                try await other.execute(
                    """
                    INSERT INTO _roost_request_count
                    SELECT sha256(n::text::bytea), 1, now() - interval '1 s' FROM generate_series(1, 25000) AS n;
                    INSERT INTO _roost_request_count VALUES ('kept', 1, now() + interval '1 h')
                    """)
                // Servers delete expired counts when they start.
                try await server.alongside(Self.options(5)) { third in
                    let isSwept = try await eventually {
                        try await third.texts("SELECT key::text FROM _roost_request_count").count == 1
                    }
                    #expect(isSwept)
                }
            }
        }
    }
}
