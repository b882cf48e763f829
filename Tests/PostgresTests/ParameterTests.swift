import Foundation
import Postgres
import Testing

@Suite("Round trips of values through PostgreSQL")
struct ParameterTests {
    @Test("Strings round-trip, including the empty string, emoji, SQL syntax and 70,000 characters")
    func texts() async throws {
        try await TestDatabase.run { database in
            let texts = [
                "", "plain", "Grüße", "日本語", "👩‍👩‍👧‍👦", "a'b\"c\\d", "$1;--", "\t\r\n", String(repeating: "x", count: 70_000),
            ]
            for text in texts {
                let row = try await database.client.query("SELECT $1, length($1)", [.text(text)])
                #expect(row.string(0, 0) == text)
                #expect(row.int(0, 1) == Int64(text.unicodeScalars.count))
            }
        }
    }

    @Test("An empty string is not NULL")
    func emptyText() async throws {
        try await TestDatabase.run { database in
            let row = try await database.client.query(
                "SELECT $1 IS NULL, $2 IS NULL, $1", [.text(""), .null(.text)])
            #expect(row.bool(0, 0) == false)
            #expect(row.bool(0, 1) == true)
            #expect(row.string(0, 2) == "")
        }
    }

    @Test("NULL of every type arrives as NULL and is nil in every accessor")
    func nulls() async throws {
        try await TestDatabase.run { database in
            let types: [PostgresType] = [
                .bool, .int8, .text, .point, .polygon, .float8, .textArray, .float8Array, .timestamptz, .jsonb,
                .boolArray, .timestamptzArray, .jsonbArray,
            ]
            for type in types {
                let row = try await database.client.query("SELECT $1, $1 IS NULL", [.null(type)])
                #expect(row.bool(0, 1) == true)
                #expect(row.isNull(0, 0))
                #expect(row.string(0, 0) == nil)
                #expect(row.int(0, 0) == nil)
                #expect(row.double(0, 0) == nil)
                #expect(row.bool(0, 0) == nil)
                #expect(row.timestamp(0, 0) == nil)
                #expect(row.jsonb(0, 0) == nil)
                #expect(row.textArray(0, 0) == nil)
                #expect(row.point(0, 0) == nil)
                #expect(row.polygon(0, 0) == nil)
            }
        }
    }

    @Test("Integers and Booleans round-trip over their whole range")
    func integers() async throws {
        try await TestDatabase.run { database in
            for integer in [0, 1, -1, Int64.max, Int64.min] {
                let row = try await database.client.query("SELECT $1, $1::text", [.int(integer)])
                #expect(row.int(0, 0) == integer)
                #expect(row.string(0, 1) == String(integer))
            }
            let small = try await database.client.query("SELECT 7::int2, (-8)::int4, 9::int8")
            #expect(small.int(0, 0) == 7)
            #expect(small.int(0, 1) == -8)
            #expect(small.int(0, 2) == 9)
            let flags = try await database.client.query("SELECT $1, $2, $1::text", [.bool(true), .bool(false)])
            #expect(flags.bool(0, 0) == true)
            #expect(flags.bool(0, 1) == false)
            #expect(flags.string(0, 2) == "true")
        }
    }

    @Test("Doubles round-trip bit for bit, including infinities and the smallest numbers")
    func doubles() async throws {
        try await TestDatabase.run { database in
            let numbers = [
                0, -0.0, 0.1, 1 / 3.0, .pi, 1e308, -1e308, .leastNonzeroMagnitude, 9_007_199_254_740_991, .infinity,
                -.infinity,
            ]
            for number in numbers {
                let row = try await database.client.query("SELECT $1", [.double(number)])
                #expect(row.double(0, 0)?.bitPattern == number.bitPattern)
            }
            let row = try await database.client.query("SELECT $1, 2.5::float4, 3::int4", [.double(.nan)])
            #expect(row.double(0, 0)?.isNaN == true)
            #expect(row.double(0, 1) == 2.5)
            #expect(row.double(0, 2) == 3)
        }
    }

    @Test("Timestamps keep their milliseconds, also before 1970 and before 2000")
    func timestamps() async throws {
        try await TestDatabase.run { database in
            let times: [Int64: String] = [
                0: "1970-01-01 00:00:00.000", 946_684_800_000: "2000-01-01 00:00:00.000",
                946_684_799_999: "1999-12-31 23:59:59.999", -1: "1969-12-31 23:59:59.999",
                1_700_000_000_123: "2023-11-14 22:13:20.123", -62_135_596_800_000: "0001-01-01 00:00:00.000",
                253_402_300_799_999: "9999-12-31 23:59:59.999",
            ]
            for (milliseconds, text) in times {
                let row = try await database.client.query(
                    "SELECT $1, to_char($1 AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')",
                    [.timestamp(milliseconds: milliseconds)])
                #expect(row.timestamp(0, 0) == milliseconds)
                #expect(row.string(0, 1) == text)
            }
        }
    }

    @Test("Truncates microseconds instead of rounding up to the next millisecond")
    func microseconds() async throws {
        try await TestDatabase.run { database in
            let row = try await database.client.query(
                "SELECT '1999-12-31T23:59:59.999999Z'::timestamptz, '2001-01-01T00:00:00.000999Z'::timestamptz")
            #expect(row.timestamp(0, 0) == 946_684_799_999)
            #expect(row.timestamp(0, 1) == 978_307_200_000)
        }
    }

    @Test("JSON round-trips unchanged and is returned with type jsonb")
    func json() async throws {
        try await TestDatabase.run { database in
            let text = #"{"a": [1, 2.5, "x\"y", null, true], "ü": {}}"#
            let row = try await database.client.query(
                "SELECT $1, $1->'a'->>2, '[1]'::json", [.jsonb(Array(text.utf8))])
            #expect(row.jsonb(0, 0).map { String(decoding: $0, as: UTF8.self) } == text)
            #expect(row.string(0, 1) == "x\"y")
            #expect(row.jsonb(0, 2).map { String(decoding: $0, as: UTF8.self) } == "[1]")
            #expect(row.columnType(0) == PostgresType.jsonb.rawValue)
        }
    }

    @Test("Text arrays keep order, empty strings and quotes; NULL elements are skipped when read")
    func textArrays() async throws {
        try await TestDatabase.run { database in
            let list = ["", "a", "{b}", "\"c\"", ",", "NULL", "\\"]
            let row = try await database.client.query(
                "SELECT $1, array_length($1, 1), $2, ARRAY['x', NULL, 'y'], cardinality($2)",
                [.textArray(list), .textArray([])])
            #expect(row.textArray(0, 0) == list)
            #expect(row.int(0, 1) == 7)
            #expect(row.textArray(0, 2) == [])
            #expect(row.textArray(0, 3) == ["x", "y"])
            #expect(row.int(0, 4) == 0)
        }
    }

    @Test("Arrays of doubles, Booleans, timestamps and JSON arrive with their elements")
    func arrays() async throws {
        try await TestDatabase.run { database in
            let row = try await database.client.query(
                "SELECT $1[2], cardinality($1), $2[1], $2[2], $3[1], $3[2], $4[2]->>'a', cardinality($4), cardinality($5)",
                [
                    .doubleArray([1.5, -2.25]), .boolArray([true, false]), .timestampArray(milliseconds: [-1, 1_000]),
                    .jsonbArray([Array("1".utf8), Array("{\"a\":\"b\"}".utf8)]), .doubleArray([]),
                ])
            #expect(row.double(0, 0) == -2.25)
            #expect(row.int(0, 1) == 2)
            #expect(row.bool(0, 2) == true)
            #expect(row.bool(0, 3) == false)
            #expect(row.timestamp(0, 4) == -1)
            #expect(row.timestamp(0, 5) == 1000)
            #expect(row.string(0, 6) == "b")
            #expect(row.int(0, 7) == 2)
            #expect(row.int(0, 8) == 0)
        }
    }

    @Test("Points and polygons keep their coordinates")
    func shapes() async throws {
        try await TestDatabase.run { database in
            let corners = [(x: 0.0, y: 0.5), (x: 10.25, y: -3), (x: 4, y: 1e-9)]
            let row = try await database.client.query(
                "SELECT $1, $2, $1[0]", [.point(x: -122.5, y: 37.75), .polygon(corners)])
            #expect(row.point(0, 0)?.x == -122.5)
            #expect(row.point(0, 0)?.y == 37.75)
            #expect(row.double(0, 2) == -122.5)
            let read = row.polygon(0, 1) ?? []
            #expect(read.map(\.x) == corners.map(\.x))
            #expect(read.map(\.y) == corners.map(\.y))
        }
    }

    @Test("Random strings, integers, doubles and timestamps in one statement round-trip unchanged")
    func randomRoundTrips() async throws {
        try await TestDatabase.run { database in
            var generator = SystemRandomNumberGenerator()
            for _ in 0..<200 {
                let text = String(
                    String.UnicodeScalarView(
                        (0..<Int.random(in: 0...40)).compactMap { _ in
                            Unicode.Scalar(UInt32.random(in: 1...0x10FFFF, using: &generator))
                        }))
                let integer = Int64.random(in: .min ... .max, using: &generator)
                let number = Double(bitPattern: UInt64.random(in: .min ... .max, using: &generator))
                let time = Int64.random(in: -60_000_000_000_000...60_000_000_000_000, using: &generator)
                let row = try await database.client.query(
                    "SELECT $1, $2, $3, $4",
                    [.text(text), .int(integer), .double(number), .timestamp(milliseconds: time)])
                #expect(row.string(0, 0).map { Array($0.utf8) } == Array(text.utf8))
                #expect(row.int(0, 1) == integer)
                #expect(number.isNaN ? row.double(0, 2)?.isNaN == true : row.double(0, 2) == number)
                #expect(row.timestamp(0, 3) == time)
            }
        }
    }

    @Test("Quotes identifiers and literals so that nothing in them ends the quotes")
    func identifiers() async throws {
        #expect(SQL.identifier("plain") == "\"plain\"")
        #expect(SQL.identifier("a\"b") == "\"a\"\"b\"")
        #expect(SQL.identifier("a\0b") == "\"a\u{FFFD}b\"")
        #expect(SQL.identifier("\"\u{301}x") == "\"\"\"\u{301}x\"")
        #expect(SQL.literal("") == "''")
        #expect(SQL.literal("it's") == "'it''s'")
        #expect(SQL.literal("a\\b") == "E'a\\\\b'")
        try await TestDatabase.run { database in
            let names = [
                "plain", "With \"quotes\"", "a\\b", "x'; DROP TABLE y; --", "$1", "ü::int", "it's", "\\'", "'\u{301}",
                "\"\u{301}", "\\", "line\nbreak",
            ]
            for name in names {
                let row = try await database.client.query(
                    "SELECT 1 AS \(SQL.identifier(name)), \(SQL.literal(name)) AS value")
                #expect(row.columnName(0) == name)
                #expect(row.string(0, 1) == name)
            }
        }
    }
}
