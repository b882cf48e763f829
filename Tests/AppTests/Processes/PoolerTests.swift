import JSON
import Postgres
import TestSupport
import Testing

/// Behavior behind a pooler in transaction mode.
@Suite("Behind a transaction pooler")
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

    @Test("Objects, users, transactional batches and declared classes work on few shared sessions")
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
                    // Another process learns of a field without an announcement.
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

    private static let live: JSONObject = [
        "liveQuery": ["classNames": ["Song"]], "startLiveQueryServer": true, "cacheTTL": 3_600_000,
    ]

    private static func live(_ options: JSONObject) -> JSONObject { live.merging(options) { $1 } }

    @Test("With directDatabaseURI, log-outs and live-query events pass between processes")
    func directAddress() async throws {
        try await TestServer.withDatabase { uri in
            try await Pooler.run(before: uri, sessions: 6) { pooled in
                let options = Self.live([
                    "databaseURI": .string(pooled), "directDatabaseURI": .string(uri),
                    "databaseOptions": ["transactionPooler": true, "schemaCacheTtl": 3_600_000],
                ])
                try await TestServer.run(on: pooled, options) { server in
                    try await server.alongside(options) { other in
                        let lena = try await server.signUp("lena")
                        #expect(try await eventually { try await Self.isLoggedIn(other, lena.token) })
                        _ = try await server.send("POST", "/logout", [:], as: .session(lena.token)).succeeded()
                        // Without announcements, the session would stay cached for an hour.
                        #expect(try await eventually { try await !Self.isLoggedIn(other, lena.token) })
                        try await Self.expectEvents(from: server, at: other)
                        _ = try await server.send("PUT", "/schemas/Song", Self.index, as: .master).succeeded()
                    }
                }
                // The server must not leave session locks behind.
                let locks =
                    "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND database = "
                    + "(SELECT oid FROM pg_database WHERE datname = current_database())"
                #expect(try await eventually { try await TestServer.texts(locks, on: uri) == ["0"] })
            }
        }
    }

    private static let index: JSONValue = ["indexes": ["byTitle": ["title": 1]]]

    private static func isLoggedIn(_ server: TestServer, _ token: String) async throws -> Bool {
        try await server.send("GET", "/users/me", as: .session(token)).status == 200
    }

    /// Expects that live-query clients of one server get changes made through another.
    private static func expectEvents(from server: TestServer, at other: TestServer) async throws {
        _ = try await server.create("Song", ["title": "before"])
        try await other.liveQuery { client in
            try await client.connect()
            try await client.subscribe(1, "Song")
            _ = try await server.create("Song", ["title": "a"])
            var event = try await client.next()
            // The event of an earlier save may follow the subscription.
            if event["object"]?["title"] == "before" { event = try await client.next() }
            #expect(event["op"] == "create")
            #expect(event["object"]?["title"] == "a")
        }
    }

    @Test("Apps in separate schemas share a pooler's sessions without seeing each other's data")
    func schemas() async throws {
        try await TestServer.withDatabase { uri in
            try await Pooler.run(before: uri, sessions: 4) { pooled in
                @Sendable func options(_ schema: String) -> JSONObject {
                    [
                        "databaseURI": .string(pooled), "directDatabaseURI": .string(uri),
                        "databaseSchema": .string(schema),
                        "databaseOptions": ["transactionPooler": true, "sharedConnections": 4],
                    ]
                }
                try await TestServer.run(on: pooled, options("one")) { one in
                    try await one.alongside(options(#"App "2""#)) { two in
                        let apps = [(one, "one"), (two, "two")]
                        try await withThrowingTaskGroup(of: Void.self) { tasks in
                            for (server, name) in apps {
                                for number in 0..<40 {
                                    tasks.addTask { try await Self.use(server, name, number) }
                                }
                            }
                            try await tasks.waitForAll()
                        }
                        for (server, name) in apps {
                            let found = try await server.find("Song", ["limit": 1000, "order": "n", "count": 1])
                            #expect(found.results.allSatisfy { $0["of"] == .string(name) }, "\(found.text)")
                            #expect(found["count"] == 120)
                        }
                    }
                }
                let tables = "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
                #expect(try await TestServer.texts(tables, on: uri) == [])
            }
        }
    }

    /// Creates objects through every code path to the database.
    private static func use(_ server: TestServer, _ name: String, _ number: Int) async throws {
        let song: JSONObject = ["of": .string(name), "n": .number(Double(number))]
        let id = try await server.create("Song", song)
        _ = try await server.send("PUT", "/classes/Song/\(id)", ["again": true]).succeeded()
        let call: JSONValue = ["method": "POST", "path": "/parse/classes/Song", "body": .object(song)]
        _ = try await server.send("POST", "/batch", ["requests": [call, call], "transaction": true]).succeeded()
        _ = try await server.send("GET", "/classes/Song/\(id)").succeeded()
        for parameters: JSONObject in [["where": ["of": ["$regex": "o"]]], ["limit": 0, "count": 1]] {
            let found = try await server.find("Song", parameters).succeeded()
            #expect(found.results.allSatisfy { $0["of"] == .string(name) }, "\(found.text)")
        }
        let query = "/aggregate/Song?distinct=of"
        #expect(try await server.send("GET", query, as: .master).results == [.string(name)])
    }

    @Test("If a pooler drops the startup options, the server logs it and sets the schema in each session")
    func forgottenOptions() async throws {
        try await TestServer.withDatabase { uri in
            try await Pooler.run(
                before: uri, sessions: 40, mode: "session", extra: "ignore_startup_parameters = options"
            ) {
                pooled in
                let lines = LogLines()
                try await TestServer.run(on: pooled, ["databaseSchema": "one"]) { server in
                    let id = try await server.create("Song", ["title": "a"])
                    #expect(try await server.send("GET", "/classes/Song/\(id)")["title"] == "a")
                    try await server.alongside(["databaseSchema": "two"], logger: lines.logger) { other in
                        let hidden = try await other.send("GET", "/classes/Song/\(id)")
                        #expect(hidden.code == 101)
                    }
                }
                #expect(lines.all.contains { $0.contains("drops the parameter options") })
                let tables = "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
                #expect(try await TestServer.texts(tables, on: uri) == [])
            }
        }
    }

    @Test("If a pooler rejects the startup options, the server configures each session after connecting")
    func refusedOptions() async throws {
        try await TestServer.withDatabase { uri in
            try await Pooler.run(before: uri, sessions: 40, mode: "session") { pooled in
                let lines = LogLines()
                var configuration = PostgresConfiguration(
                    connectionString: pooled + "?options=-c%20search_path%3Dpublic%2Cpg_catalog")
                configuration.sharedConnections = 2
                configuration.sharedStatementTimeout = .milliseconds(12_345)
                let client = PostgresClient(configuration: configuration, logger: lines.logger)
                try await client.start()
                #expect(try await client.query("SHOW statement_timeout").string(0, 0) == "12345ms")
                #expect(try await client.query("SHOW search_path").string(0, 0) == "public,pg_catalog")
                // A script resets its session afterward.
                try await client.execute(script: "SET search_path = 'nowhere'; SELECT 1")
                let path = try await client.exclusively { try await $0.query("SHOW search_path").string(0, 0) }
                #expect(path == "public,pg_catalog")
                try await Self.expectFirst(client)
                await client.shutdown()
                #expect(lines.all.filter { $0.contains("rejects the parameter options") }.count == 1)

                try await TestServer.run(on: pooled, Self.live([:])) { server in
                    try await server.alongside(Self.live([:])) { try await Self.expectEvents(from: server, at: $0) }
                }
            }
        }
    }

    /// Expects success of statements that PostgreSQL accepts only as the first of a transaction.
    private static func expectFirst(_ client: PostgresClient) async throws {
        try await client.execute(script: "CREATE TABLE \"Indexed\" (\"a\" int)")
        try await client.exclusively {
            _ = try await $0.query("CREATE INDEX CONCURRENTLY \"byA\" ON \"Indexed\" (\"a\")")
        }
        try await client.execute(script: "DROP INDEX CONCURRENTLY \"byA\"")
        let path = try await client.transaction(isolation: .repeatableRead) { first in
            let snapshot = try await first.query("SELECT pg_export_snapshot()").string(0, 0) ?? ""
            return try await client.transaction(isolation: .repeatableRead) { second in
                _ = try await second.query("SET TRANSACTION SNAPSHOT '\(snapshot)'")
                return try await second.query("SHOW search_path").string(0, 0)
            }
        }
        #expect(path == "public,pg_catalog")
    }

    @Test("A live-query client waits until LISTEN succeeds; if admitted earlier, it's disconnected once it does")
    func early() async throws {
        try await TestServer.withDatabase { uri in
            try await TestServer.run(on: uri, Self.live([:])) { server in
                _ = try await server.create("Song", ["title": "before"])
                try await NotificationFilter.run(before: uri, holding: #"LISTEN "roost.change"#) { filter in
                    let behind = TestServer(url: server.url, databaseURI: filter.uri)
                    try await behind.alongside(Self.live([:])) { other in
                        try await other.liveQuery { client in
                            let began = ContinuousClock.now
                            try await client.connect()
                            #expect(ContinuousClock.now - began > .seconds(4))
                            try await client.subscribe(1, "Song")
                            filter.open()
                            #expect(try await client.isClosed())
                        }
                        try await Self.expectEvents(from: server, at: other)
                    }
                }
                try await NotificationFilter.run(before: uri, holding: #"LISTEN "roost.change"#) { filter in
                    let behind = TestServer(url: server.url, databaseURI: filter.uri)
                    try await behind.alongside(Self.live([:])) { other in
                        async let events: Void = Self.expectEvents(from: server, at: other)
                        try await Task.sleep(for: .milliseconds(500))
                        filter.open()
                        try await events
                    }
                }
            }
        }
    }

    @Test("Without notifications, the log names the option to set, and log-outs still apply within a second")
    func silence() async throws {
        try await TestServer.withDatabase { uri in
            try await NotificationFilter.run(before: uri) { filter in
                let lines = LogLines()
                let options = Self.live(["databaseOptions": ["schemaCacheTtl": 3_600_000]])
                try await TestServer.run(on: uri, options) { server in
                    let behind = TestServer(url: server.url, databaseURI: filter.uri)
                    try await behind.alongside(options, logger: lines.logger) { other in
                        let advice = "error PostgreSQL notifications don't arrive"
                        let isNamed = try await eventually {
                            lines.all.contains { $0.hasPrefix(advice) && $0.contains("Set directDatabaseURI") }
                        }
                        #expect(isNamed)
                        let lena = try await server.signUp("lena")
                        #expect(try await eventually { try await Self.isLoggedIn(other, lena.token) })
                        _ = try await server.send("POST", "/logout", [:], as: .session(lena.token)).succeeded()
                        let isRefused = try await withinOneSecond { try await !Self.isLoggedIn(other, lena.token) }
                        #expect(isRefused)
                        #expect(lines.all.filter { $0.hasPrefix(advice) }.count == 1)

                        filter.open()
                        let arrive = try await eventually {
                            lines.all.contains("notice receiving PostgreSQL notifications")
                        }
                        #expect(arrive)
                        try await Self.expectEvents(from: server, at: other)
                    }
                }
            }
        }
    }
}
