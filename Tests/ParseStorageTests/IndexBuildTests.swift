import JSON
import ParseModel
import ParseStorage
import Postgres
import TestTools
import Testing

@Suite("Building indexes of large tables")
struct IndexBuildTests {
    @Test("Builds an index of a large table even if no other connection is free")
    func noFreeConnection() async throws {
        try await TestStore.run { test in
            _ = try await test.catalog.ensure("Song", ["title": Field(.string)])
            try await test.client.execute(
                script: """
                    INSERT INTO "Song" ("objectId", title)
                    SELECT 'o' || n, repeat(md5(n::text), 3) FROM generate_series(1, 40000) n
                    """)
            var configuration = PostgresConfiguration(connectionString: test.uri)
            configuration.sharedConnections = 1
            configuration.exclusiveConnections = 1
            configuration.connectTimeout = .seconds(5)
            let client = PostgresClient(configuration: configuration, logger: TestStore.logger)
            try await client.start()
            let catalog = SchemaCatalog(
                client: client, senderId: "other", refusesMixedMembership: false, logger: TestStore.logger)
            let result = await Result.awaiting {
                try await catalog.change("Song") { current in
                    var schema = current ?? ClassSchema(name: "Song")
                    schema.indexes["byTitle"] = ["title": 1]
                    return schema
                }
            }
            await client.shutdown()
            #expect(try result.get().indexes["byTitle"] == ["title": 1])
            let made = try await test.client.query(
                "SELECT i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid WHERE relname = 'byTitle'")
            #expect(made.bool(0, 0) == true)
        }
    }
}
