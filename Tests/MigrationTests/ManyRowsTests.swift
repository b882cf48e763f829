import App
import Foundation
import Migration
import TestSupport
import Testing

/// 100,000 rows in every format. The script that creates them also prints the expected contents.
@Suite struct ManyRowsTests {
    /// The number of objects. The other rows are pairs of a relation.
    private static let count = 30_000

    /// All values of all objects, and the number of pairs with the sum of their ids.
    private static func contents(_ server: TestServer) async throws -> [String] {
        let objects = try await server.texts(
            """
            SELECT md5(string_agg(concat_ws('|', "objectId", "n", "s", (extract(epoch FROM "createdAt") * 1000)::int8,
                (extract(epoch FROM "updatedAt") * 1000)::int8), E'\\n' ORDER BY "objectId" COLLATE "C")) FROM "Many"
            """)
        let pairs = try await server.texts(
            """
            SELECT concat_ws(' ', count(*), sum(substr("owningId", 2)::int8 + substr("relatedId", 2)::int8))
            FROM "_Join:r:Many"
            """)
        return objects + pairs
    }

    @Test("Imports 100,000 rows completely from every source format", arguments: SourceForm.allCases)
    func rows(form: SourceForm) async throws {
        try await ImportFolder.run { folder in
            let (source, sum) = try await form.make("rows", "\(Self.count)", in: folder.source)
            try await TestServer.withDatabase { uri in
                let server = TestServer(url: "", databaseURI: uri)
                let pairs = 100_000 - Self.count
                let report = try await folder.load(source, into: server)
                #expect(report.exitCode == 0, "\(report.json.text)")
                #expect(report.classes.map(\.rows) == [Int64(Self.count), Int64(pairs)])
                let contents = try await Self.contents(server)
                #expect(contents == [sum, "\(pairs) \(pairs * (pairs - 1) / 2 + pairs * Self.count)"])
                let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(!left.contains("rejects.jsonl"))
                let unpacked = (try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/scratch")) ?? []
                #expect(unpacked.isEmpty, "what was unpacked is removed: \(unpacked)")
            }
        }
    }

    @Test("Imports 100,000 rows completely from a running server and from its export")
    func ownForms() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Many", ["n": 1, "s": "x"])
            try await server.execute(
                """
                DELETE FROM "Many";
                INSERT INTO "Many" ("objectId", "n", "s", "createdAt", "updatedAt")
                SELECT 'm' || i, i, 'row ' || i, at, at FROM (
                    SELECT i, '2020-01-01T00:00:00Z'::timestamptz + i / 3 * interval '1 ms' AS at
                    FROM generate_series(1, 100000) i) AS numbered
                """)
            let rows = """
                SELECT count(*) || md5(string_agg(t::text, '' ORDER BY "objectId" COLLATE "C"))
                FROM (SELECT "objectId", "n", "s", "createdAt", "updatedAt" FROM "Many") t
                """
            let expected = try await server.texts(rows)
            try #require(expected.first?.hasPrefix("100000") == true)
            try await ImportFolder.run { folder in
                let deployment = try Deployment(
                    arguments: [
                        "--databaseURI", server.databaseURI, "--dataDir", folder.path + "/data", "--serverURL",
                        "http://x/parse",
                    ], environment: [:], needsKeys: false)
                let request = Export.Request(folder: folder.path + "/export")
                _ = try await Export(deployment, request) { _ in }.run()
                let notes = try await LiveServerTests.download(LiveServerTests.address(server), to: folder)
                #expect(notes.isEmpty)
                for source in ["export", "live"] {
                    try await TestServer.withDatabase { uri in
                        let other = TestServer(url: "", databaseURI: uri)
                        let report = try await folder.load(folder.path + "/" + source, into: other)
                        #expect(report.exitCode == 0, "\(source): \(report.json.text)")
                        #expect(try await other.texts(rows) == expected, "\(source)")
                    }
                }
            }
        }
    }
}
