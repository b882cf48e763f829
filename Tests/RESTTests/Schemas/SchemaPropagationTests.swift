import JSON
import TestSupport
import Testing

/// Class changes as seen by other processes.
@Suite struct SchemaPropagationTests {
    /// A server that doesn't poll during the test, so it depends on announcements.
    private static let told: JSONObject = [
        "databaseOptions": ["schemaCacheTtl": 3_600_000], "cacheTTL": 3_600_000,
    ]

    /// Whether the class's permissions reject a find. That check doesn't reload the class.
    private static func refuses(_ server: TestServer, _ className: String) async throws -> Bool {
        try await server.find(className).code == 119
    }

    private static func refuses(_ server: TestServer, session token: String) async throws -> Bool {
        try await server.find("Other", as: .session(token)).code == 209
    }

    private static let closed: JSONValue = ["classLevelPermissions": ["get": ["*": true]]]

    @Test("A server learns of another server's schema changes by notification")
    func announced() async throws {
        try await TestServer.run(Self.told) { first in
            _ = try await first.create("Song", ["n": 1])
            try await first.alongside(Self.told) { second in
                #expect(try await second.find("Song").results.count == 1)
                _ = try await first.send("PUT", "/schemas/Song", Self.closed, as: .master).succeeded()
                #expect(try await eventually { try await Self.refuses(second, "Song") })
            }
        }
    }

    @Test("Applies schema changes that parse-server announces")
    func announcedByParseServer() async throws {
        try await TestServer.run(Self.told) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.close(server)
            try await server.execute("NOTIFY \"schema.change\", '{\"senderId\":\"somebody else\"}'")
            #expect(try await eventually { try await Self.refuses(server, "Song") })
        }
    }

    @Test("Detects unannounced schema changes by polling")
    func unannounced() async throws {
        try await TestServer.run(["databaseOptions": ["schemaCacheTtl": 100]]) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.close(server)
            #expect(try await eventually { try await Self.refuses(server, "Song") })
        }
    }

    @Test("Detects missed schema changes when the listening connection is re-established")
    func interrupted() async throws {
        try await TestServer.run(Self.told) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.close(server)
            let wasTold = try await Self.refuses(server, "Song")
            #expect(!wasTold)
            #expect(try await eventually { try await Self.listeners(of: server).count == 1 })
            try await Self.endListeners(of: server)
            #expect(try await eventually { try await Self.refuses(server, "Song") })
        }
    }

    @Test("Detects schema changes and log-outs within a second after the listening connection broke")
    func brokenBefore() async throws {
        try await TestServer.run(Self.told) { first in
            _ = try await first.create("Song", ["n": 1])
            try await first.alongside(Self.told) { second in
                for round in 1...6 {
                    let kim = try await first.signUp("kim\(round)")
                    let isClosing = round % 2 == 1
                    let permissions: JSONValue = isClosing ? ["get": ["*": true]] : ["find": ["*": true]]
                    let wasRefused = try await Self.refuses(second, session: kim.token)
                    #expect(!wasRefused)
                    #expect(try await eventually { try await Self.listeners(of: second).count == 2 })
                    try await Self.endListeners(of: second)
                    _ = try await first.send(
                        "PUT", "/schemas/Song", ["classLevelPermissions": permissions], as: .master
                    ).succeeded()
                    _ = try await first.send("POST", "/logout", [:], as: .session(kim.token)).succeeded()
                    #expect(try await withinOneSecond { try await Self.refuses(second, "Song") == isClosing })
                    #expect(try await withinOneSecond { try await Self.refuses(second, session: kim.token) })
                }
            }
        }
    }

    @Test("While the listening connection stays down, detects schema changes and log-outs within a second")
    func deaf() async throws {
        try await TestServer.run(Self.told) { deaf in
            let kim = try await deaf.signUp("kim")
            _ = try await deaf.create("Song", ["n": 1])
            try await deaf.alongside(Self.told) { other in
                // From here on, the server has opened all connections that it needs.
                _ = try await other.create("Song", ["m": 1])
                let wasTold = try await eventually { try await deaf.find("Song").results.contains { $0["m"] == 1 } }
                let wasRefused = try await Self.refuses(deaf, session: kim.token)
                #expect(wasTold && !wasRefused)
                try await Self.allowConnections(to: deaf, false)
                try await Self.endListeners(of: deaf)
                _ = try await other.send("PUT", "/schemas/Song", Self.closed, as: .master).succeeded()
                #expect(try await withinOneSecond { try await Self.refuses(deaf, "Song") })
                _ = try await other.send("POST", "/logout", [:], as: .session(kim.token)).succeeded()
                #expect(try await withinOneSecond { try await Self.refuses(deaf, session: kim.token) })
                #expect(try await Self.listeners(of: deaf).isEmpty)
                try await Self.allowConnections(to: deaf, true)
                #expect(try await eventually { try await Self.listeners(of: deaf).count == 2 })
            }
        }
    }

    @Test("A burst of schema notifications doesn't delay the notification of a log-out")
    func burst() async throws {
        try await TestServer.run(Self.told) { first in
            let kim = try await first.signUp("kim")
            _ = try await first.create("Song", ["n": 1])
            try await first.execute(
                """
                INSERT INTO "_SCHEMA" ("className", "schema", "isParseClass")
                    SELECT 'Song' || n, "schema", "isParseClass" FROM "_SCHEMA", generate_series(1, 300) AS n
                    WHERE "className" = 'Song';
                """)
            try await first.alongside(Self.told) { second in
                let wasRefused = try await Self.refuses(second, session: kim.token)
                #expect(!wasRefused)
                try await first.execute(
                    "SELECT pg_notify('schema.change', 'somebody else ' || n) FROM generate_series(1, 500) AS n")
                _ = try await first.send("POST", "/logout", [:], as: .session(kim.token)).succeeded()
                #expect(try await withinOneSecond { try await Self.refuses(second, session: kim.token) })
            }
        }
    }

    private static func database(of server: TestServer) throws -> String {
        try #require(server.databaseURI.split(separator: "/").last.map(String.init))
    }

    private static func allowConnections(to server: TestServer, _ areAllowed: Bool) async throws {
        try await TestServer.execute(
            "ALTER DATABASE \(database(of: server)) ALLOW_CONNECTIONS \(areAllowed)", on: TestServer.cluster)
    }

    /// The PostgreSQL processes of connections that listen in a server's database.
    private static func listeners(of server: TestServer) async throws -> [String] {
        let cluster = TestServer(url: "", databaseURI: TestServer.cluster)
        return try await cluster.texts("SELECT pid::text \(listening(in: database(of: server)))")
    }

    private static func endListeners(of server: TestServer) async throws {
        try await TestServer.execute(
            "SELECT pg_terminate_backend(pid) \(listening(in: database(of: server)))", on: TestServer.cluster)
    }

    private static func listening(in database: String) -> String {
        "FROM pg_stat_activity WHERE datname = '\(database)' AND query LIKE 'LISTEN%'"
    }

    /// Denies access to a class with parse-server's own statement.
    private static func close(_ server: TestServer) async throws {
        try await server.execute(
            """
            UPDATE "_SCHEMA" SET "schema" = json_object_set_key("schema", 'classLevelPermissions'::text,
                '{"get":{"*":true}}'::jsonb) WHERE "className" = 'Song';
            """)
    }
}
