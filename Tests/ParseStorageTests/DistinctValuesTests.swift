import JSON
import ParseModel
import ParseStorage
import Postgres
import Testing

@Suite("Distinct values of a field")
struct DistinctValuesTests {
    /// Lists the distinct jsonb values of all rows, without the optimization of comparing columns first.
    private static func byRows(_ value: String) -> String {
        "SELECT DISTINCT v FROM (SELECT \(value) AS v FROM \"D\") AS c WHERE v IS NOT NULL AND v <> 'null' ORDER BY v"
    }

    private static let date = #"to_jsonb(to_char("day" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))"#

    /// Fields and the SQL expressions of their values.
    private static let fields: [(name: String, value: String)] = [
        ("text", #"to_jsonb("text")"#), ("number", #"roost_json("number")"#), ("flag", #"to_jsonb("flag")"#),
        ("day", date), ("file", #"to_jsonb("file")"#), ("objectId", #"to_jsonb("objectId")"#),
        (
            "owner",
            #"CASE WHEN "owner" IS NOT NULL THEN jsonb_build_object('__type', 'Pointer', 'className', 'O', 'objectId', "owner") END"#
        ),
    ]

    private static func fill(_ test: TestStore) async throws {
        try await test.create(
            "D", "a",
            #"{"text":"é","number":-0.0,"flag":true,"day":{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"},"#
                + #""owner":{"__type":"Pointer","className":"O","objectId":"o1"},"list":[1,2],"#
                + #""file":{"__type":"File","name":"f.txt"}}"#)
        _ = try await test.client.query(
            """
            INSERT INTO "D" ("objectId", "text", "number", "flag", "day", "owner", "file") SELECT 'r' || i,
                (ARRAY['b', 'a', 'B', 'aa', 'Zz', '', 'é', NULL])[1 + i % 8],
                (ARRAY[0, 10, 9, -1.5, 1e300, 'NaN', 'Infinity', NULL]::float8[])[1 + i % 8],
                (ARRAY[true, false, NULL])[1 + i % 3],
                timestamptz '2020-01-01 00:00:00Z' + (i % 5) * interval '250 microseconds', 'o' || i % 4,
                'f' || i % 3 || '.txt' FROM generate_series(1, 4000) AS i
            """)
    }

    @Test("Comparing columns and jumping along an index yield the same values as comparing each row's JSON")
    func equality() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            for (name, value) in Self.fields {
                _ = try await test.client.query("CREATE INDEX ON \"D\" (\"\(name)\", \"createdAt\")")
                let schema = try #require(test.catalog.schema("D"))
                let values = try #require(
                    try DistinctValues(of: name, schema, .everything, test.catalog.snapshot))
                func texts(_ statement: Statement) async throws -> [String] {
                    let rows = try await test.client.slowQuery(statement)
                    return (0..<rows.rowCount).compactMap {
                        rows.jsonb($0, 0).map { String(decoding: $0, as: UTF8.self) }
                    }
                }
                let before = try await texts(Statement(Self.byRows(value)))
                #expect(before.count > 1, "\(name)")
                let plain = try await texts(values.statement)
                let jump = try #require(values.jump)
                let jumped = try await texts(jump.statement)
                #expect(plain == before, "\(name)")
                #expect(jumped == before, "\(name)")
                let answered = try await test.store.aggregates.distinct("D", name, .everything).map(\.text)
                #expect(answered == before.compactMap { try? JSONValue(parsing: Array($0.utf8)).text }, "\(name)")
            }
            let flagged = try await test.store.aggregates.distinct(
                "D", "owner", .field(FieldPath("flag"), .equal(true)))
            #expect(flagged.count == 4)
            #expect(try await test.store.aggregates.distinct("D", "list", .everything) == [1, 2])
        }
    }

    @Test("Jumps from value to value only along an index that sorts by a column with few values")
    func indexes() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            func jumps(_ name: String, _ filter: Filter = .everything) async throws -> Bool {
                let schema = try #require(test.catalog.schema("D"))
                let values = try #require(try DistinctValues(of: name, schema, filter, test.catalog.snapshot))
                guard let jump = values.jump else { return false }
                return try await test.client.query(jump.question, readOnly: true).rowCount > 0
            }
            for index in [
                "(\"text\" text_pattern_ops)", "(\"number\", \"text\")", "(\"text\") WHERE \"number\" > 0",
                "USING hash (\"text\")", "(lower(\"text\"))",
            ] {
                _ = try await test.client.query("CREATE INDEX ON \"D\" \(index)")
            }
            _ = try await test.client.query("ANALYZE \"D\"")
            let withoutIndex = try await jumps("text")
            #expect(!withoutIndex)
            let composite = try await jumps("number")
            #expect(composite)
            let many = try await jumps("objectId")
            #expect(!many)
            _ = try await test.client.query("CREATE INDEX ON \"D\" (\"text\" DESC)")
            let descending = try await jumps("text")
            #expect(descending)
            let filtered = try await jumps("text", .field(FieldPath("flag"), .equal(true)))
            #expect(!filtered)
            let json = try await jumps("list")
            #expect(!json)
            let texts = try await test.store.aggregates.distinct("D", "text", .everything)
            #expect(Set(texts.map(\.text)) == ["\"\"", "\"B\"", "\"a\"", "\"b\"", "\"é\"", "\"Zz\"", "\"aa\""])
        }
    }

    @Test("Finds the index to jump along in a schema with a quoted name")
    func quotedSchema() async throws {
        try await TestStore.run { test in
            try await Self.fill(test)
            let schema = try #require(test.catalog.schema("D"))
            let values = try #require(try DistinctValues(of: "text", schema, .everything, test.catalog.snapshot))
            let question = try #require(values.jump).question
            try await test.client.execute(
                script: "CREATE INDEX ON \"D\" (\"text\"); ANALYZE \"D\"; CREATE SCHEMA \"App 1\"; "
                    + "ALTER TABLE \"D\" SET SCHEMA \"App 1\"")
            let rows = try await test.client.exclusively { session in
                _ = try await session.query("SET search_path = \"App 1\"")
                let rows = try await session.query(question)
                _ = try await session.query("RESET search_path")
                return rows.rowCount
            }
            #expect(rows == 1)
        }
    }
}
