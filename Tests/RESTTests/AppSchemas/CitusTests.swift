import JSON
import TestSupport
import Testing

/// Apps that share a Citus database. Citus stores each schema entirely on one worker.
@Suite("Apps in Citus schemas", .enabled("PostgreSQL has no Citus here") { try await CitusCluster.isInstalled() })
struct CitusTests {
    private static func options(_ schema: String) -> JSONObject {
        [
            "databaseSchema": .string(schema), "distribution": ["engine": "citus", "mode": "schema"],
            "filesAdapter": "postgres", "cacheTTL": 3_600_000,
            "liveQuery": ["classNames": ["Song", "Tune"]], "startLiveQueryServer": true, "jobSchedules": true,
            "allowCustomObjectId": true,
            "rateLimitStore": "database",
            "rateLimit": [
                [
                    "requestPath": "/functions/*path", "requestTimeWindow": 60_000, "requestCount": 1,
                    "includeInternalRequests": true,
                ]
            ],
            "idempotencyOptions": ["paths": ["classes/Song"], "ttl": 60],
            "databaseOptions": ["sharedConnections": 2, "schemaCacheTtl": 3_600_000],
        ]
    }

    @Test("Most routes of two concurrent apps respond as on plain PostgreSQL; all tables are distributed")
    func routes() async throws {
        let expected = try await TestServer.run { try await RouteSteps.answers(of: $0) }
        try await CitusCluster.run { cluster in
            let seen = try await Self.withApps(cluster) { one, two in
                async let first = RouteSteps.answers(of: one)
                async let second = RouteSteps.answers(of: two)
                return try await [first, second]
            }
            for (app, answers) in zip(["one", "two"], seen) {
                for (answer, expected) in zip(answers, expected) {
                    #expect(answer.answer == expected.answer, "\(app): \(answer.request)")
                }
            }
            let schemas = try await TestServer.texts(
                "SELECT schema_name::text FROM citus_schemas ORDER BY 1", on: cluster.uri)
            #expect(schemas == ["\"App 1\"", "app2"])
            let elsewhere = try await TestServer.texts(
                """
                SELECT c.oid::regclass::text FROM pg_class c JOIN citus_schemas s ON s.schema_name = c.relnamespace::regnamespace
                WHERE c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
                """, on: cluster.uri)
            #expect(elsewhere == [])
        }
    }

    @Test("Files, batches, jobs, rate limits, request ids and live queries work")
    func tablesOfRoost() async throws {
        try await CitusCluster.run { cluster in
            try await Self.withApps(cluster) { _, app in
                try await Self.files(app)
                try await CitusRowsTests.isWhole(app, "Thing")
                let run = try await app.startJob("echo", ["a": 1])
                #expect(try await app.jobStatus(run, when: "succeeded") != nil)
                let calls = try await [
                    app.send("POST", "/functions/none", [:]), app.send("POST", "/functions/none", [:]),
                ]
                #expect(calls.map(\.status) == [400, 429])
                let id = ["X-Parse-Request-Id": "once"]
                let saves = try await [
                    app.send("POST", "/classes/Song", [:], headers: id),
                    app.send("POST", "/classes/Song", [:], headers: id),
                ]
                #expect(saves.map(\.code) == [nil, 159])
                try await app.alongside(Self.options("app2")) { second in try await Self.changes(app, second) }
            }
        }
    }

    private static func files(_ app: TestServer) async throws {
        let text = ["Content-Type": "text/plain"]
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 3_000_000)
        let name = try await app.send("POST", "/files/a.txt", bytes: bytes, as: .master, headers: text).succeeded()
            .string("name")
        #expect(try await app.send("GET", "/files/testApp/\(name)").bytes == bytes)
        #expect(try await app.send("DELETE", "/files/\(name)", as: .master).status == 200)
        #expect(try await app.send("GET", "/files/testApp/\(name)").status == 404)
    }

    /// Two processes change an object in turn, and a live query receives its final state.
    private static func changes(_ one: TestServer, _ two: TestServer) async throws {
        let id = try await one.create("Tune", ["n": 0, "list": []])
        // From here on, both servers know the class.
        _ = try await two.find("Tune").succeeded()
        try await two.liveQuery { client in
            try await client.connect()
            try await client.subscribe(1, "Tune")
            for n in 1...20 {
                let server = n.isMultiple(of: 2) ? one : two
                let body: JSONObject = [
                    "n": .number(Double(n)), "list": ["__op": "Add", "objects": [.number(Double(n))]],
                ]
                _ = try await server.send("PUT", "/classes/Tune/\(id)", .object(body)).succeeded()
            }
            _ = try await one.send("DELETE", "/classes/Tune/\(id)").succeeded()
            var last: JSONObject = [:]
            var before: JSONObject = [:]
            repeat { (before, last) = (last, try await client.next()) } while last["op"] != "delete"
            #expect(before["object"]?["n"] == 20)
            #expect(before["object"]?["list"]?.arrayValue?.count == 20)
        }
    }

    private static func withApps<R: Sendable>(
        _ cluster: CitusCluster, _ body: @escaping @Sendable (_ one: TestServer, _ two: TestServer) async throws -> R
    ) async throws -> R {
        try await TestServer.run(on: cluster.uri, options("App 1")) { one in
            try await one.alongside(options("app2"), extensions: StandingJobs().extensions()) { two in
                try await body(one, two)
            }
        }
    }
}
