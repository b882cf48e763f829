import JSON
import Migration
import ParseModel
import ParseStorage
import Postgres
import Synchronization
import TestSupport
import TestTools
import Testing

/// Exports while others change the classes, and the permissions in exports.
@Suite struct DatabaseExportTests {
    private static let classes = """
        CREATE TABLE "_SCHEMA" ("className" varchar(120) PRIMARY KEY, "schema" jsonb, "isParseClass" bool);
        INSERT INTO "_SCHEMA" VALUES ('Kept', '{"fields": {"a": {"type": "Number"}}}', true),
            ('Gone', '{"fields": {"a": {"type": "Number"}}}', true);
        CREATE TABLE "Kept" ("objectId" text PRIMARY KEY, "a" float8);
        CREATE TABLE "Gone" ("objectId" text PRIMARY KEY, "a" float8);
        INSERT INTO "Kept" VALUES ('k', 1);
        INSERT INTO "Gone" VALUES ('g', 1);
        """

    /// Reads a table's rows after a concurrent change.
    private static func read(_ name: String, after change: String) async throws -> String {
        try await TestServer.withDatabase { uri in
            try await TestServer.execute(classes, on: uri)
            var configuration = PostgresConfiguration(connectionString: uri)
            configuration.sharedConnections = 1
            let client = PostgresClient(configuration: configuration, logger: TestServer.quietLogger)
            let request = DatabaseExport.Request(links: .none)
            let result = await Result.awaiting {
                try await DatabaseExport.run(client, request) { export in
                    // The export locks no tables.
                    try await TestServer.execute("SET lock_timeout = '5s'; \(change)", on: uri)
                    let rows = Rows()
                    let table = try #require(export.tables.first { $0.name == name })
                    try await export.read(table, separator: Array("|".utf8)) { text, _ in rows.add(text) }
                    return rows.text
                }
            }
            await client.shutdown()
            return try result.get()
        }
    }

    private final class Rows: Sendable {
        private let state = Mutex<[UInt8]>([])
        var text: String { state.withLock { String(decoding: $0, as: UTF8.self) } }
        func add(_ bytes: [UInt8]) { state.withLock { $0 += bytes } }
    }

    @Test("An export doesn't show changes to rows, fields and classes made after it started")
    func changes() async throws {
        for change in [
            "DELETE FROM \"Kept\"", "INSERT INTO \"Kept\" VALUES ('new', 2)",
            "ALTER TABLE \"Kept\" ADD COLUMN \"b\" text", "CREATE TABLE \"New\" (a int)", "DROP TABLE \"Gone\"",
            "UPDATE \"Kept\" SET \"a\" = 5",
        ] {
            #expect(try await Self.read("Kept", after: change) == #"{"objectId":"k","a":1}"#, "\(change)")
        }
    }

    @Test("Dropping a class or field that wasn't read yet fails the export with a clear message")
    func gone() async throws {
        for change in ["DROP TABLE \"Gone\"", "ALTER TABLE \"Gone\" DROP COLUMN \"a\""] {
            do {
                _ = try await Self.read("Gone", after: change)
                Issue.record("\(change) must end the export")
            } catch let error as DatabaseExport.Refusal {
                #expect(error.description == "Gone changed during the export. Export again")
            }
        }
    }

    @Test("Recognizes stored permissions that no ACL reproduces exactly")
    func permissions() {
        #expect(ExactPermissions.isExact(nil, nil))
        #expect(ExactPermissions.isExact([], []))
        #expect(ExactPermissions.isExact(["a", "b"], ["b", "c", "d"]))
        #expect(!ExactPermissions.isExact(nil, []))
        #expect(!ExactPermissions.isExact([], nil))
        #expect(!ExactPermissions.isExact(["a", "b"], ["b", "a"]))
        #expect(!ExactPermissions.isExact(["a", "a"], []))
        #expect(!ExactPermissions.isExact(["a"], ["c", "a"]))
    }
}
