import Doctor
import JSON
import ParseStorage
import Postgres
import TestSupport
import Testing

/// Apps that share a database, each in its own schema (`databaseSchema`).
@Suite("Apps in separate schemas of one database")
struct AppSchemaTests {
    private static let hostile = #"App "1".Über\ '$user', public"#

    private static func options(_ schema: String, _ others: JSONObject = [:]) -> JSONObject {
        let options: JSONObject = [
            "databaseSchema": .string(schema), "cacheTTL": 3_600_000, "filesAdapter": "postgres",
            "liveQuery": ["classNames": ["Song"]], "startLiveQueryServer": true, "jobSchedules": true,
            "databaseOptions": ["sharedConnections": 2, "schemaCacheTtl": 3_600_000],
        ]
        return options.merging(others) { $1 }
    }

    /// Runs `body` with the servers of two apps. A third app uses the schema `public`.
    private static func withApps(
        _ body: @escaping @Sendable (_ one: TestServer, _ two: TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run(options("one"), extensions: StandingJobs().extensions()) { one in
            try await one.alongside(options(hostile), extensions: StandingJobs().extensions()) { two in
                try await body(one, two)
            }
        }
    }

    @Test(
        "Most routes respond the same in a schema of any name as without databaseSchema", arguments: ["app1", hostile])
    func routes(schema: String) async throws {
        let expected = try await TestServer.run { try await RouteSteps.answers(of: $0) }
        let seen = try await TestServer.run(["databaseSchema": .string(schema)]) { server in
            let answers = try await RouteSteps.answers(of: server)
            let elsewhere = try await server.texts("SELECT \"className\"::text FROM \"_SCHEMA\" ORDER BY 1")
            #expect(elsewhere == ["_Installation", "_Role", "_Session", "_User"])
            #expect(try await server.texts("SELECT \"objectId\" FROM \"_User\"") == [])
            return answers
        }
        for (seen, expected) in zip(seen, expected) {
            #expect(seen.answer == expected.answer, "\(seen.request)")
        }
        // Guards against steps that mostly fail.
        #expect(expected.count { $0.answer.hasPrefix("20") } > 60, "\(expected)")
    }

    @Test("Uses the first existing schema of the database URI's search_path")
    func pathOfAddress() async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.run(on: uri + "?options=-c%20search_path%3Dabsent%2Cpublic") { server in
                _ = try await server.create("Song", ["title": "a"])
            }
            let schemas = "SELECT schemaname::text FROM pg_tables WHERE tablename = 'Song'"
            #expect(try await TestServer.texts(schemas, on: uri) == ["public"])
        }
    }

    @Test("Apps don't share classes, users, sessions, files, jobs, config or push audiences")
    func data() async throws {
        try await Self.withApps { one, two in
            _ = try await one.create("Song", ["title": "a", "only": "one"])
            _ = try await two.create("Song", ["title": 1])
            #expect(try await one.find("Song").results.map { $0["title"] } == ["a"])
            #expect(try await two.find("Song").results.map { $0["title"] } == [1])
            #expect(try await two.send("GET", "/schemas/Song", as: .master)["fields"]?["only"] == nil)
            let lena = try await one.signUp("lena")
            #expect(try await two.send("GET", "/users/me", as: .session(lena.token)).code == 209)
            #expect(try await two.send("GET", "/users/\(lena.id)", as: .master).code == 101)
            let other = try await two.signUp("lena", password: "other")
            #expect(try await one.send("GET", "/users/me", as: .session(other.token)).code == 209)

            let file = try await one.send(
                "POST", "/files/a.txt", bytes: Array("one".utf8), as: .session(lena.token),
                headers: ["Content-Type": "text/plain"]
            ).succeeded().string("name")
            #expect(try await one.send("GET", "/files/testApp/\(file)").text == "one")
            #expect(try await two.send("GET", "/files/testApp/\(file)").status == 404)

            let run = try await one.startJob("echo", ["a": 1])
            #expect(try await one.jobStatus(run, when: "succeeded") != nil)
            #expect(try await two.find("_JobStatus", as: .master).results.isEmpty)
            _ = try await one.send("PUT", "/config", ["params": ["a": 1]], as: .master).succeeded()
            #expect(try await two.send("GET", "/config")["params"] == [:])
            _ = try await one.send(
                "POST", "/push_audiences", ["name": "all", "query": "{}"], as: .master
            ).succeeded()
            #expect(try await two.send("GET", "/push_audiences", as: .master).results.isEmpty)
            let findings = try await Self.findings(one, "one")
            #expect(findings.filter { $0.kind != .setting }.isEmpty, "\(findings)")
        }
    }

    private static func findings(_ server: TestServer, _ schema: String) async throws -> [Finding] {
        let uri = PostgresConfiguration.connectionString(server.databaseURI, schema: schema)
        return try await PostgresClient.opened(
            PostgresConfiguration(connectionString: uri), logger: TestServer.quietLogger
        ) { try await Doctor(client: $0).examine().findings }
    }

    @Test("Processes of an app see each other's changes, and none of another app's")
    func announcements() async throws {
        try await Self.withApps { one, two in
            try await one.alongside(Self.options("one")) { second in
                _ = try await one.create("Song", ["title": "before"])
                _ = try await two.create("Song", ["title": "before"])
                let lena = try await one.signUp("lena")
                let knows = try await eventually {
                    try await second.send("GET", "/users/me", as: .session(lena.token)).status == 200
                }
                #expect(knows)
                try await second.liveQuery { client in
                    try await client.connect()
                    try await client.subscribe(1, "Song")
                    _ = try await two.create("Song", ["title": "of two"])
                    _ = try await one.create("Song", ["title": "of one"])
                    let event = try await client.next()
                    #expect(event["object"]?["title"] == "of one")
                }
                _ = try await one.send("POST", "/logout", [:], as: .session(lena.token)).succeeded()
                // Announcements are required: without them, the session and the field would stay cached for an hour.
                let forgets = try await eventually {
                    try await second.send("GET", "/users/me", as: .session(lena.token)).status != 200
                }
                #expect(forgets)
                _ = try await one.create("Song", ["title": "c", "late": 1])
                let learns = try await eventually {
                    try await second.send("GET", "/schemas/Song", as: .master)["fields"]?["late"] != nil
                }
                #expect(learns)
            }
        }
    }

    @Test("Apps have separate index advice and separate process locks")
    func adviceAndLocks() async throws {
        try await Self.withApps { one, two in
            _ = try await one.create("Track", ["plays": 1])
            _ = try await two.create("Track", ["plays": 1])
            try await one.execute(
                """
                SET search_path = one;
                INSERT INTO "Track" ("objectId", "createdAt", "updatedAt", "plays")
                SELECT 't' || n, now(), now(), n FROM generate_series(1, 300000) n;
                ANALYZE "Track";
                """)
            for number in 0..<12 {
                _ = try await one.find("Track", ["where": ["plays": .number(Double(number))]]).succeeded()
            }
            _ = try await one.send("GET", "/index_advice", as: .master).succeeded()
            try await one.execute("UPDATE one.\"_roost_advice\" SET \"calls\" = 12, \"total\" = 12 * 290")
            let advice = try await one.send("GET", "/index_advice", as: .master)
            #expect(advice.results.first?["columns"] == ["plays"], "\(advice.text)")
            #expect(try await two.send("GET", "/index_advice", as: .master).results.isEmpty)

            try await Self.withClient(one, "one") { first in
                try await Self.withClient(one, Self.hostile) { second in
                    let held = try await ProcessLock.jobSchedules.hold(first) { _ in
                        try await ProcessLock.jobSchedules.hold(second) { _ in
                            try await first.query(
                                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
                            )
                            .int(0, 0) ?? 0
                        }
                    }
                    #expect(held >= 2)
                }
            }
        }
    }

    private static func withClient<R: Sendable>(
        _ server: TestServer, _ schema: String, _ body: (PostgresClient) async throws -> R
    ) async throws -> R {
        let uri = PostgresConfiguration.connectionString(server.databaseURI, schema: schema)
        return try await PostgresClient.opened(
            PostgresConfiguration(connectionString: uri), logger: TestServer.quietLogger, body)
    }
}
