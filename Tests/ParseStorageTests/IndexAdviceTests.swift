import JSON
import ParseModel
import ParseStorage
import Postgres
import Testing

@Suite("Index advice")
struct IndexAdviceTests {
    /// Creates a large class with 250 values of `cat`, 5000 owners and four states.
    static func makePosts(_ test: TestStore, rows: Int = 200_000) async throws {
        _ = try await test.catalog.ensure(
            "Post",
            [
                "cat": Field(.string), "owner": Field(.pointer("Owner")), "state": Field(.string),
                "score": Field(.number), "title": Field(.string),
            ])
        _ = try await test.catalog.ensure("Owner", ["country": Field(.string)])
        try await test.client.execute(
            script: """
                INSERT INTO "Owner" ("objectId", "country") SELECT 'w' || n, 'c' || n % 100 FROM generate_series(1, 5000) n;
                INSERT INTO "Post" ("objectId", "createdAt", "cat", "owner", "state", "score", "title")
                SELECT 'p' || n, now() - n * interval '1 second', 'cat' || n % 250, 'w' || n * 31 % 5000,
                    'state' || n % 4, n::int8 * 48271 % 1000003, md5(n::text) FROM generate_series(1, \(rows)) n;
                ANALYZE "Owner"; ANALYZE "Post";
                """)
    }

    /// Records a find as slow.
    static func note(
        _ test: TestStore, _ filter: JSONObject, order: String = "", timesOut: Bool = false, times: Int = 30,
        milliseconds: Int = 600
    ) async throws {
        var request = ObjectStore.FindRequest(className: "Post")
        request.filter = try FilterParser(isMaster: true, now: 0).parse(filter)
        request.order = SortKey.list(.string(order))
        request.limit = 100
        let schema = try #require(test.catalog.schema("Post"))
        let shape = try #require(QueryShape(request, schema))
        let notes = FindNotes()
        for _ in 0..<times { notes.record(shape, took: .milliseconds(milliseconds), isTimeout: timesOut) }
        try await NoteTable(client: test.client).add(notes.drain())
    }

    private static func advised(_ test: TestStore) async throws -> Set<[String]> {
        Set(try await IndexAdviser(client: test.client).advice().map(\.columns))
    }

    @Test("Advises only helpful indexes, none that is a prefix of another or already exists")
    func sevenShapes() async throws {
        try await TestStore.run { test in
            try await Self.makePosts(test)
            try await Self.note(test, ["cat": "cat1"])
            try await Self.note(test, ["cat": "cat1"], order: "-createdAt")
            try await Self.note(test, ["owner": ["__type": "Pointer", "className": "Owner", "objectId": "w1"]])
            try await Self.note(
                test, ["owner": ["$inQuery": ["className": "Owner", "where": ["country": "c1"]]]])
            try await Self.note(test, [:], order: "-score")
            try await Self.note(test, ["state": "state1"])
            let advice = try await IndexAdviser(client: test.client).advice()
            #expect(Set(advice.map(\.columns)) == [["cat", "createdAt"], ["owner"], ["score"]])
            let words = advice.first { $0.columns == ["score"] }?.words ?? ""
            #expect(
                words.hasPrefix("Post by -score: 30 times today, 600 ms; about ")
                    && words.hasSuffix(" ms with an index on score"), "\(words)")
            for advice in advice { _ = try await test.client.query(advice.statement, []) }
            #expect(try await Self.advised(test) == [], "what was built is not advised again")
        }
    }

    @Test("A single timed-out find is enough for advice, and quick finds get none")
    func timeouts() async throws {
        try await TestStore.run { test in
            try await Self.makePosts(test, rows: 20_000)
            try await Self.note(test, ["title": "abc"], timesOut: true, times: 1, milliseconds: 30_000)
            try await Self.note(test, ["score": ["$exists": true]], order: "cat", times: 30, milliseconds: 2)
            let words = try await IndexAdviser(client: test.client).advice().map(\.words)
            #expect(words.count == 1)
            let timedOut = "Post by title: once today, 30000 ms, 1 timed out; "
            #expect(words.first?.hasPrefix(timedOut) == true, "\(words)")
            #expect(words.first?.hasSuffix(" with an index on title") == true, "\(words)")
        }
    }

    @Test("Advises a text index for prefix searches, which PostgreSQL then uses")
    func prefix() async throws {
        try await TestStore.run { test in
            try await Self.makePosts(test)
            try await Self.note(test, ["title": ["$regex": "^\\Qc0ffe\\E"]])
            #expect(try await Self.advised(test) == [["title"]])
            for advice in try await IndexAdviser(client: test.client).advice() {
                _ = try await test.client.query(advice.statement, [])
            }
            let plan = try await test.client.query(
                #"EXPLAIN SELECT * FROM "Post" WHERE "title" LIKE 'c0ffe%' LIMIT 100"#)
            #expect((0..<plan.rowCount).contains { plan.string($0, 0)?.contains("Index Scan") == true })
            #expect(try await Self.advised(test) == [])
        }
    }

    @Test("Advises an index for distinct values of a field unless it has many values")
    func distinct() async throws {
        try await TestStore.run { test in
            try await Self.makePosts(test)
            let notes = FindNotes()
            notes.record(QueryShape(table: "Post", distinct: "state"), took: .milliseconds(600), isTimeout: false)
            notes.record(QueryShape(table: "Post", distinct: "state"), took: .milliseconds(600), isTimeout: false)
            notes.record(QueryShape(table: "Post", distinct: "title"), took: .seconds(60), isTimeout: true)
            try await NoteTable(client: test.client).add(notes.drain())
            let advice = try await IndexAdviser(client: test.client).advice()
            #expect(advice.map(\.columns) == [["state"]])
            #expect(advice.first?.words.hasPrefix("distinct values of Post.state: 2 times today, 600 ms; ") == true)
        }
    }

    @Test("Adds up records of several processes, ignores dropped classes and deletes old records")
    func table() async throws {
        try await TestStore.run { test in
            try await Self.makePosts(test, rows: 20_000)
            async let first: Void = Self.note(test, ["cat": "cat1"])
            async let second: Void = Self.note(test, ["cat": "cat2"])
            _ = try await (first, second)
            let notes = try await NoteTable(client: test.client).all()
            #expect(notes.map(\.today.calls) == [60])
            #expect(notes.map(\.today) == notes.map(\.month))
            _ = try await test.client.query("UPDATE \"_roost_advice\" SET \"day\" = \"day\" - 1", [])
            #expect(try await NoteTable(client: test.client).all().map(\.today.calls) == [0])
            #expect(try await Self.advised(test) == [["cat"]])
            _ = try await test.client.query("DROP TABLE \"Post\"", [])
            #expect(try await Self.advised(test) == [])
            _ = try await test.client.query("UPDATE \"_roost_advice\" SET \"day\" = \"day\" - 60", [])
            try await NoteTable(client: test.client).sweep()
            #expect(try await NoteTable(client: test.client).all().isEmpty)
        }
    }
}
