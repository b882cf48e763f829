import JSON
import ParseModel
import ParseStorage
import Postgres
import Testing

@Suite("Indexes by date")
struct DateIndexTests {
    /// Creates a class like parse-server's, with many rows.
    private static func makeTable(_ name: String, rows: Int, _ test: TestStore) async throws {
        let table = SQL.identifier(name)
        try await test.client.execute(
            script: """
                CREATE TABLE \(table) ("objectId" text PRIMARY KEY, "createdAt" timestamptz, "updatedAt" timestamptz,
                    "n" double precision, "_rperm" text[], "_wperm" text[]);
                INSERT INTO "_SCHEMA" VALUES (\(SQL.literal(name)),
                    '{"className":"\(name)","fields":{"n":{"type":"Number"}}}', true);
                INSERT INTO \(table) SELECT 'id' || i, '2020-01-01T00:00:00Z'::timestamptz + i * interval '1 minute',
                    now(), i FROM generate_series(1, \(rows)) AS i;
                ANALYZE \(table);
                """)
        try await test.catalog.reload()
    }

    /// Returns the indexes that PostgreSQL would use for a page in date order.
    private static func plan(_ className: String, _ test: TestStore) async throws -> String {
        var request = ObjectStore.FindRequest(className: className)
        request.filter = try FilterParser(isMaster: true, now: 0).parse([
            "createdAt": ["$gte": ["__type": "Date", "iso": "2020-01-12T00:00:00.000Z"]]
        ])
        request.order = SortKey.list("createdAt,objectId")
        request.limit = 100
        return try await test.store.explain(request).text
    }

    private static func indexes(_ table: String, _ test: TestStore) async throws -> [String] {
        let rows = try await test.client.query(
            "SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                + "WHERE i.indrelid = $1::text::regclass AND i.indisvalid AND NOT i.indisprimary ORDER BY 1",
            [.text(SQL.identifier(table))])
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }

    private static func index(_ test: TestStore) async {
        await DateIndexer(
            configuration: PostgresConfiguration(connectionString: test.uri), client: test.client,
            logger: TestStore.logger
        ).run()
    }

    @Test("After indexing, a date window of a large parse-server table is read without sorting")
    func existingTables() async throws {
        try await TestStore.run { test in
            try await Self.makeTable("Song", rows: 20_000, test)
            #expect(try await Self.plan("Song", test).contains("Sort"))
            await Self.index(test)
            #expect(try await Self.indexes("Song", test) == ["roost_created:Song"])
            let plan = try await Self.plan("Song", test)
            #expect(plan.contains("roost_created:Song"), "\(plan)")
            #expect(!plan.contains("\"Sort\""), "\(plan)")
            #expect(test.catalog.schema("Song")?.indexes.isEmpty == true)
        }
    }

    @Test("New classes and system classes are created with their index, which isn't built twice")
    func newTables() async throws {
        try await TestStore.run { test in
            try await test.create("Note", "a", #"{"n":1}"#)
            #expect(try await Self.indexes("Note", test) == ["roost_created:Note"])
            for table in ["_User", "_Role", "_Session", "_Installation"] {
                #expect(try await Self.indexes(table, test).contains("roost_created:\(table)"))
            }
            await Self.index(test)
            #expect(try await Self.indexes("Note", test) == ["roost_created:Note"])
        }
    }

    @Test("Classes with long names that share a prefix each get an index")
    func longNames() async throws {
        try await TestStore.run { test in
            let names = ["a", "b"].map { String(repeating: "Song", count: 14) + $0 }
            for name in names {
                try await test.create(name, "a")
                let indexes = try await Self.indexes(name, test)
                #expect(indexes.count == 1)
                #expect(indexes.first?.hasPrefix("roost_created:Song") == true)
            }
        }
    }

    @Test("Accepts an administrator's own index and rebuilds an invalid one")
    func others() async throws {
        try await TestStore.run { test in
            try await Self.makeTable("Own", rows: 10, test)
            try await Self.makeTable("Half", rows: 10, test)
            try await test.client.execute(
                script: """
                    CREATE INDEX "mine" ON "Own" ("createdAt");
                    CREATE INDEX "roost_created:Half" ON "Half" ("createdAt", "objectId");
                    UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"roost_created:Half"'::regclass;
                    """)
            await Self.index(test)
            #expect(try await Self.indexes("Own", test) == ["mine"])
            #expect(try await Self.indexes("Half", test) == ["roost_created:Half"])
        }
    }

    @Test("Indexes every partition of a partitioned table and rebuilds an invalid index")
    func dividedTables() async throws {
        try await TestStore.run { test in
            try await test.client.execute(
                script: """
                    CREATE TABLE "Reading" ("objectId" text, "createdAt" timestamptz, "updatedAt" timestamptz,
                        "_rperm" text[], "_wperm" text[], PRIMARY KEY ("objectId", "createdAt"))
                        PARTITION BY RANGE ("createdAt");
                    CREATE TABLE "Reading_old" PARTITION OF "Reading" FOR VALUES FROM (MINVALUE) TO ('2020-02-01');
                    CREATE TABLE "Reading_new" PARTITION OF "Reading" FOR VALUES FROM ('2020-02-01') TO (MAXVALUE)
                        PARTITION BY HASH ("objectId");
                    CREATE TABLE "Reading_new0" PARTITION OF "Reading_new" FOR VALUES WITH (MODULUS 2, REMAINDER 0);
                    CREATE TABLE "Reading_new1" PARTITION OF "Reading_new" FOR VALUES WITH (MODULUS 2, REMAINDER 1);
                    INSERT INTO "_SCHEMA" VALUES ('Reading', '{"className":"Reading","fields":{}}', true);
                    INSERT INTO "Reading" SELECT 'id' || i, '2020-01-01'::timestamptz + i * interval '1 minute'
                        FROM generate_series(1, 90000) AS i;
                    CREATE INDEX "roost_created:Reading_new1" ON "Reading_new1" ("createdAt", "objectId");
                    UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"roost_created:Reading_new1"'::regclass;
                    ANALYZE "Reading";
                    """)
            try await test.catalog.reload()
            for _ in 0..<2 {
                await Self.index(test)
                for part in ["Reading", "Reading_old", "Reading_new", "Reading_new0", "Reading_new1"] {
                    #expect(try await Self.indexes(part, test) == ["roost_created:\(part)"])
                }
            }
            let plan = try await Self.plan("Reading", test)
            #expect(plan.contains("roost_created:Reading_old"), "\(plan)")
        }
    }

    @Test("Missing and unsuitable tables don't prevent the indexes of other tables")
    func oddTables() async throws {
        try await TestStore.run { test in
            try await test.client.execute(
                script: """
                    INSERT INTO "_SCHEMA" VALUES ('Absent', '{"className":"Absent","fields":{}}', true);
                    INSERT INTO "_SCHEMA" VALUES ('Bare', '{"className":"Bare","fields":{}}', true);
                    CREATE TABLE "Bare" ("objectId" text PRIMARY KEY);
                    CREATE TABLE "Broken" ("objectId" json, "createdAt" timestamptz);
                    INSERT INTO "_SCHEMA" VALUES ('Broken', '{"className":"Broken","fields":{}}', true);
                    """)
            try await Self.makeTable("Song", rows: 10, test)
            await Self.index(test)
            #expect(try await Self.indexes("Song", test) == ["roost_created:Song"])
            #expect(try await Self.indexes("Broken", test) == [])
        }
    }

    @Test("Several processes that start at once build each index once")
    func together() async throws {
        try await TestStore.run { test in
            for number in 0..<4 { try await Self.makeTable("Song\(number)", rows: 100, test) }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { await Self.index(test) } }
            }
            for number in 0..<4 {
                #expect(try await Self.indexes("Song\(number)", test) == ["roost_created:Song\(number)"])
            }
        }
    }
}
