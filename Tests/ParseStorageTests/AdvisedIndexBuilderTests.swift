import JSON
import ParseModel
import ParseStorage
import Postgres
import TestSupport
import Testing

@Suite("Building advised indexes")
struct AdvisedIndexBuilderTests {
    private static func builder(_ test: TestStore, most: Int = 4) -> AdvisedIndexBuilder {
        AdvisedIndexBuilder(
            configuration: PostgresConfiguration(connectionString: test.uri), client: test.client, maxPerClass: most,
            logger: TestStore.logger)
    }

    /// The existing advised indexes. Invalid ones are marked.
    private static func indexes(_ test: TestStore) async throws -> [String] {
        let rows = try await test.client.query(
            "SELECT c.relname::text || CASE WHEN i.indisvalid THEN '' ELSE ' (invalid)' END FROM pg_index i "
                + "JOIN pg_class c ON c.oid = i.indexrelid WHERE starts_with(c.relname::text, 'roost_advice:') ORDER BY 1"
        )
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }

    private static func notePosts(_ test: TestStore) async throws {
        try await IndexAdviceTests.makePosts(test, rows: 50_000)
        try await IndexAdviceTests.note(test, ["cat": "cat1"], times: 60)
        try await IndexAdviceTests.note(
            test, ["owner": ["__type": "Pointer", "className": "Owner", "objectId": "w1"]])
    }

    /// Runs `body` with the build's process id while a transaction prevents builds from finishing.
    private static func whileBuilding(
        _ test: TestStore, _ builder: AdvisedIndexBuilder, _ body: @Sendable (Int64) async throws -> Void
    ) async throws -> String? {
        try await test.client.exclusively { reader in
            _ = try await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
            _ = try await reader.query("SELECT count(*) FROM \"Owner\"")
            async let built = builder.turn()
            var process: Int64?
            let isWaiting = try await eventually {
                let rows = try await test.client.query(
                    "SELECT pid::int8 FROM pg_stat_progress_create_index WHERE phase = 'waiting for old snapshots' "
                        + "AND datname = current_database()")
                process = rows.rowCount > 0 ? rows.int(0, 0) : nil
                return process != nil
            }
            #expect(isWaiting)
            try await body(try #require(process))
            let name = await built
            _ = try await reader.query("ROLLBACK")
            return name
        }
    }

    @Test("Each turn builds the most helpful index, up to the limit per class")
    func turns() async throws {
        try await TestStore.run { test in
            try await Self.notePosts(test)
            let builder = Self.builder(test, most: 1)
            #expect(await builder.turn() == "roost_advice:Post:cat")
            #expect(await builder.turn() == nil)
            #expect(try await Self.indexes(test) == ["roost_advice:Post:cat"])
            #expect(await Self.builder(test).turn() == "roost_advice:Post:owner")
            #expect(await Self.builder(test).turn() == nil)
        }
    }

    @Test("Two processes at once neither build an index twice nor leave an invalid one")
    func twoProcesses() async throws {
        try await TestStore.run { test in
            try await Self.notePosts(test)
            let (first, second) = (Self.builder(test), Self.builder(test))
            async let one = first.turn()
            async let other = second.turn()
            let built = await [one, other].compactMap { $0 }
            #expect(Set(built).count == built.count && !built.isEmpty, "\(built)")
            #expect(try await Self.indexes(test) == built.sorted())
        }
    }

    @Test("A build lets writes through, yields to a class change without leftovers, and succeeds later")
    func makingWay() async throws {
        try await TestStore.run { test in
            try await Self.notePosts(test)
            let builder = Self.builder(test)
            let name = try await Self.whileBuilding(test, builder) { _ in
                try await test.create("Post", "new", #"{"cat":"x"}"#)
                try await test.create("Post", "newer", #"{"another":"field"}"#)
            }
            #expect(name == nil)
            #expect(try await Self.indexes(test) == [])
            #expect(await builder.turn() == "roost_advice:Post:cat")
        }
    }

    @Test("Drops the invalid index of an interrupted build at the next turn and builds it again")
    func cutConnection() async throws {
        try await TestStore.run { test in
            try await Self.notePosts(test)
            let name = try await Self.whileBuilding(test, Self.builder(test)) { process in
                _ = try await test.client.query("SELECT pg_terminate_backend($1::int8::int4)", [.int(process)])
            }
            #expect(name == nil)
            #expect(try await Self.indexes(test) == ["roost_advice:Post:cat (invalid)"])
            #expect(await Self.builder(test).turn() == "roost_advice:Post:cat")
            #expect(try await Self.indexes(test) == ["roost_advice:Post:cat"])
        }
    }

    @Test("Dropping a class ends the build of its index")
    func droppedClass() async throws {
        try await TestStore.run { test in
            try await Self.notePosts(test)
            let builder = Self.builder(test)
            let name = try await Self.whileBuilding(test, builder) { _ in
                try await SchemaTransaction(client: test.client, retryDuration: .seconds(30)).run("DROP TABLE \"Post\"")
            }
            #expect(name == nil)
            #expect(await builder.turn() == nil)
            #expect(try await Self.indexes(test) == [])
        }
    }

    @Test("Leaves another class's index with the same name alone and builds the next best one")
    func sameName() async throws {
        try await TestStore.run { test in
            try await Self.notePosts(test)
            _ = try await test.client.query(
                "CREATE INDEX \"roost_advice:Post:cat\" ON \"Owner\" (\"country\")", [])
            let builder = Self.builder(test)
            #expect(await builder.turn() == "roost_advice:Post:owner")
            #expect(await builder.turn() == nil)
            #expect(try await Self.indexes(test) == ["roost_advice:Post:cat", "roost_advice:Post:owner"])
        }
    }

    @Test("Drops an advised index if a saved string is too long for it, so that the save succeeds")
    func longTexts() async throws {
        try await TestStore.run { test in
            try await IndexAdviceTests.makePosts(test, rows: 20_000)
            try await IndexAdviceTests.note(test, ["title": "x"])
            let builder = Self.builder(test)
            #expect(await builder.turn() == "roost_advice:Post:title")
            var random = SystemRandomNumberGenerator()
            let long = (0..<400).map { _ in String(random.next(), radix: 16) }.joined()
            try await test.create("Post", "long", #"{"title":"\#(long)"}"#)
            #expect(try await test.ids("Post", #"{"title":"\#(long)"}"#) == ["long"])
            #expect(try await Self.indexes(test) == [])
            #expect(await builder.turn() == nil, "it cannot be built any more")
            #expect(try await Self.indexes(test) == [])
            // Nor do processes build and drop it repeatedly once the text is deleted.
            _ = try await test.client.query("DELETE FROM \"Post\" WHERE \"objectId\" = 'long'", [])
            #expect(await Self.builder(test).turn() == nil)
            _ = try await test.client.query(
                "UPDATE \"_roost_advice\" SET \"day\" = \"day\" - 2 WHERE \"calls\" = 0", [])
            #expect(await Self.builder(test).turn() == "roost_advice:Post:title")
        }
    }

    @Test("Builds an index for a class and a field with quotes in their names")
    func oddNames() async throws {
        try await TestStore.run { test in
            try await test.client.execute(
                script: """
                    CREATE TABLE "We""ird" ("objectId" text PRIMARY KEY, "a""b'c" double precision);
                    INSERT INTO "We""ird" SELECT 'i' || n, n FROM generate_series(1, 20000) n;
                    ANALYZE "We""ird";
                    """)
            var shape = QueryShape(table: #"We"ird"#)
            shape.equal = [#"a"b'c"#]
            let notes = FindNotes()
            for _ in 0..<30 { notes.record(shape, took: .milliseconds(900), isTimeout: false) }
            try await NoteTable(client: test.client).add(notes.drain())
            #expect(await Self.builder(test).turn() == #"roost_advice:We"ird:a"b'c"#)
        }
    }
}
