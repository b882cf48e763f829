import JSON
import TestSupport
import Testing

/// Changes of classes, as other processes see them.
@Suite struct SchemaPropagationTests {
    /// A server that would not look for itself in the time of a test, so that only announcements help.
    private static let told: JSONObject = ["databaseOptions": ["schemaCacheTtl": 3_600_000]]

    /// Whether a server lets a class's permissions refuse a find; nothing else makes it read the class again.
    private static func refuses(_ server: TestServer, _ className: String) async throws -> Bool {
        try await server.find(className).code == 119
    }

    private static let closed: JSONValue = ["classLevelPermissions": ["get": ["*": true]]]

    @Test("What one server changes, another on the same database is told")
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

    @Test("A change that parse-server makes and announces is known at once")
    func announcedByParseServer() async throws {
        try await TestServer.run(Self.told) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.close(server)
            try await server.execute("NOTIFY \"schema.change\", '{\"senderId\":\"somebody else\"}'")
            #expect(try await eventually { try await Self.refuses(server, "Song") })
        }
    }

    @Test("A change that nobody announces is found by looking")
    func unannounced() async throws {
        try await TestServer.run(["databaseOptions": ["schemaCacheTtl": 100]]) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.close(server)
            #expect(try await eventually { try await Self.refuses(server, "Song") })
        }
    }

    @Test("A change while the listening connection was broken is known when it is back")
    func interrupted() async throws {
        try await TestServer.run(Self.told) { server in
            _ = try await server.create("Song", ["n": 1])
            try await Self.close(server)
            let wasTold = try await Self.refuses(server, "Song")
            #expect(!wasTold)
            let listeners = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            #expect(try await eventually { try await server.texts("SELECT pid::text \(listeners)").count == 1 })
            try await server.execute("SELECT pg_terminate_backend(pid) \(listeners)")
            #expect(try await eventually { try await Self.refuses(server, "Song") })
        }
    }

    /// Closes a class as parse-server does, with a statement of its own.
    private static func close(_ server: TestServer) async throws {
        try await server.execute(
            """
            UPDATE "_SCHEMA" SET "schema" = json_object_set_key("schema", 'classLevelPermissions'::text,
                '{"get":{"*":true}}'::jsonb) WHERE "className" = 'Song';
            """)
    }
}
