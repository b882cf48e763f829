import Testing

@testable import Postgres

@Suite("Values")
struct ValueTests {
    @Test("come back as they were sent", .timeLimit(.minutes(1)))
    func roundTrip() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            let result = try await client.query(
                "SELECT $1 AS a, $2 AS b, $3 AS c, $4 AS d, $5 AS e, $6 AS f, $7 AS g, $8 AS h, $9 AS i",
                [
                    .text("käse \u{1F9C0}"), .bool(true), .int(.min), .double(-0.1), .timestamp(milliseconds: -1),
                    .jsonb(Array(#"{"a": [1, null]}"#.utf8)), .textArray(["", "a\"b", "ü"]), .point(x: 1.5, y: -2),
                    .polygon([(x: 0, y: 0), (x: 1, y: 0), (x: 1, y: 1.25)]),
                ])
            #expect(result.rowCount == 1)
            #expect(result.columnCount == 9)
            #expect(result.columnName(3) == "d")
            #expect(result.columnIndex("i") == 8)
            #expect(result.columnIndex("missing") == nil)
            #expect(result.columnType(5) == PostgresType.jsonb.rawValue)
            #expect(result.string(0, 0) == "käse \u{1F9C0}")
            #expect(result.bool(0, 1) == true)
            #expect(result.int(0, 2) == .min)
            #expect(result.double(0, 3) == -0.1)
            #expect(result.timestamp(0, 4) == -1)
            #expect(result.jsonb(0, 5) == Array(#"{"a": [1, null]}"#.utf8))
            #expect(result.textArray(0, 6) == ["", "a\"b", "ü"])
            #expect(result.point(0, 7).map { [$0.x, $0.y] } == [1.5, -2])
            #expect(result.polygon(0, 8)?.map { [$0.x, $0.y] } == [[0, 0], [1, 0], [1, 1.25]])
        }
    }

    @Test("mean to the server what they mean here", .timeLimit(.minutes(1)))
    func meaning() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            func text(_ parameter: PostgresParameter) async throws -> String? {
                try await client.query("SELECT ($1)::text", [parameter]).string(0, 0)
            }
            func times(_ parameter: PostgresParameter) async throws -> [String]? {
                try await client.query(
                    "SELECT ARRAY(SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') FROM unnest($1) t)",
                    [parameter]
                ).textArray(0, 0)
            }
            #expect(try await text(.int(-7)) == "-7")
            #expect(try await text(.double(1e300)) == "1e+300")
            #expect(try await text(.bool(false)) == "false")
            #expect(try await text(.jsonb(Array("[1,  2]".utf8))) == "[1, 2]")
            #expect(try await text(.textArray([])) == "{}")
            #expect(try await text(.nullableTextArray(["a", nil])) == "{a,NULL}")
            #expect(try await text(.doubleArray([1, 2.5])) == "{1,2.5}")
            #expect(try await text(.boolArray([true, false])) == "{t,f}")
            #expect(try await text(.jsonbArray([Array("1".utf8), Array(#""x""#.utf8)])) == #"{1,"\"x\""}"#)
            #expect(try await text(.point(x: 1, y: 2)) == "(1,2)")
            #expect(try await text(.polygon([(x: 0, y: 0), (x: 1, y: 1)])) == "((0,0),(1,1))")
            #expect(
                try await times(.timestampArray(milliseconds: [0, 951_782_400_123, -62_135_596_800_000]))
                    == ["1970-01-01 00:00:00.000", "2000-02-29 00:00:00.123", "0001-01-01 00:00:00.000"])
        }
    }

    @Test("of every width are read as integers and doubles", .timeLimit(.minutes(1)))
    func numbers() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            let result = try await client.query(
                "SELECT 1::int2, -2::int4, 3::int8, 0.5::float4, 7::int4, 'plain'::varchar, '{\"a\":1}'::json")
            #expect(result.int(0, 0) == 1)
            #expect(result.int(0, 1) == -2)
            #expect(result.int(0, 2) == 3)
            #expect(result.double(0, 3) == 0.5)
            #expect(result.double(0, 4) == 7)
            #expect(result.string(0, 5) == "plain")
            #expect(result.jsonb(0, 6) == Array(#"{"a":1}"#.utf8))
        }
    }

    @Test("that are NULL are nil, and empty ones are not", .timeLimit(.minutes(1)))
    func nulls() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            let result = try await client.query(
                "SELECT $1, $2, $3, $4, $5, ARRAY['a', NULL, 'b']",
                [.null(.text), .null(.jsonb), .null(.timestamptz), .text(""), .null(.textArray)])
            #expect(result.isNull(0, 0))
            #expect(result.string(0, 0) == nil)
            #expect(result.jsonb(0, 1) == nil)
            #expect(result.timestamp(0, 2) == nil)
            #expect(result.string(0, 3) == "")
            #expect(result.textArray(0, 4) == nil)
            #expect(result.textArray(0, 5) == ["a", "b"])
        }
    }

    @Test("out of range of a result are NULL", .timeLimit(.minutes(1)))
    func outOfRange() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            let result = try await client.query("SELECT 1")
            await client.shutdown()
            #expect(result.isNull(1, 0))
            #expect(result.string(0, 5) == nil)
            #expect(result.columnName(9) == "")
        }
    }

    @Test("that PostgreSQL cannot hold are refused, never cut", .timeLimit(.minutes(1)))
    func refused() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            func sqlState(_ parameter: PostgresParameter) async throws -> String {
                try await postgresError { _ = try await client.query("SELECT $1", [parameter]) }.sqlState
            }
            #expect(try await sqlState(.text("a\0b")) == "22021")
            #expect(try await sqlState(.timestamp(milliseconds: .max)) == "22008")
            #expect(try await sqlState(.timestamp(milliseconds: .min)) == "22008")
            #expect(try await sqlState(.jsonb(Array("{".utf8))) == "22P02")
            let error = try await postgresError { _ = try await client.query("SELECT 1\0, 2") }
            #expect(error.sqlState == "42601")
        }
    }

    @Test("of 20 MB, and 100,000 rows, go through", .timeLimit(.minutes(2)))
    func big() async throws {
        try await TestDatabase.withClient { client, _ async throws in
            let text = String(repeating: "0123456789abcdef", count: 20 * 1024 * 1024 / 16)
            // Several at once, so that both sides write before the other has read all.
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        let result = try await client.query("SELECT $1 || 'z'", [.text(text)])
                        return result.withBytes(0, 0) { $0.count == text.utf8.count + 1 && $0.last == 122 }
                    }
                }
                for try await isWhole in group { #expect(isWhole) }
            }
            let rows = try await client.query("SELECT i, 'row ' || i FROM generate_series(1, 100000) i")
            #expect(rows.rowCount == 100_000)
            #expect(rows.affectedRows == 100_000)
            #expect(rows.string(99_999, 1) == "row 100000")
        }
    }
}
