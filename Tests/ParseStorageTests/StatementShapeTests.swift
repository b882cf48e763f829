import ParseStorage
import Tasks
import Testing

@Suite("What statements ask of their tables")
struct StatementShapeTests {
    /// A statement, and its shapes in words.
    struct Case: CustomTestStringConvertible, Sendable {
        let statement: String
        let words: [String]
        var testDescription: String { statement }
    }

    private static let cases = [
        Case(
            statement: #"SELECT "a", "b" FROM "Track" WHERE "artist" = $1 AND ("_rperm" IS NULL OR "_rperm" && $2) "#
                + #"ORDER BY "plays" DESC, "title" ASC LIMIT $3 OFFSET $4"#,
            words: ["Track by artist, sorted by -plays"]),
        Case(
            statement: #"SELECT count(*) FROM "Track" WHERE ("state" = ANY($1) AND "plays" >= $2)"#,
            words: ["Track counted by state, plays"]),
        Case(
            statement:
                #"SELECT * FROM "Post" WHERE "owner" IN (SELECT "objectId" FROM "Owner" WHERE "country" = $1) LIMIT $2"#,
            words: ["Post by owner", "Owner by country, inside other finds"]),
        Case(statement: #"SELECT * FROM "Track" WHERE "Track"."title" LIKE $1"#, words: ["Track by title"]),
        Case(
            statement: #"SELECT * FROM "Track" WHERE NOT COALESCE("title" = $1, FALSE) LIMIT $2"#,
            words: ["Track by what no plain index serves"]),
        Case(
            statement: #"SELECT * FROM "Track" WHERE ("title" = $1 OR "artist" = $2)"#,
            words: ["Track by what no plain index serves"]),
        Case(
            statement: #"SELECT DISTINCT v FROM (SELECT to_jsonb(a) AS v FROM (SELECT DISTINCT "state" FROM "Track" "#
                + #"WHERE (TRUE) AND "state" IS NOT NULL) AS a) AS c"#, words: ["different values of Track.state"]),
        Case(
            statement: #"SELECT EXTRACT(year FROM "createdAt") FROM "Track" WHERE "plays" > $1"#,
            words: ["Track by plays"]),
        Case(
            statement: #"DELETE FROM "T""x" WHERE "a""b" = $1"#, words: [#"T"x by a"b"#]),
        Case(statement: #"UPDATE "Track" SET "plays" = $1 WHERE "title" = $2"#, words: ["Track by title"]),
        Case(
            statement: #"SELECT * FROM "Track" ORDER BY "place" <-> $1 LIMIT 10"#,
            words: ["Track by what no plain index serves"]),
        Case(statement: #"INSERT INTO "Track" ("objectId") VALUES ('FROM "x" WHERE "y" = 1')"#, words: []),
        Case(statement: "", words: []),
        Case(statement: #"SELECT ( ( FROM "T" WHERE ( "a" ="#, words: ["T by what no plain index serves"]),
        Case(statement: #"FROM "T" WHERE "a" IN"#, words: ["T by a"]),
        Case(statement: #"SELECT * FROM "T" ORDER BY"#, words: ["T"]),
    ]

    @Test("are read from their text", arguments: cases)
    func words(test: Case) {
        let shapes = StatementReader.shapes(of: test.statement)
        #expect(shapes.map(\.words) == test.words)
        for shape in shapes { #expect(StatementShape(key: shape.key) == shape) }
    }

    @Test("have a bounded size, however many fields a condition has")
    func manyFields() throws {
        let conditions = (0..<200).map { "\"\(String(repeating: "f", count: 60))\($0)\" = $\($0 + 1)" }
        let shapes = StatementReader.shapes(of: "SELECT * FROM \"T\" WHERE \(conditions.joined(separator: " AND "))")
        #expect(shapes.count == 1)
        #expect(try #require(shapes.first).key.utf8.count < 1000)
    }

    @Test("are noted up to a bound; what took least in all is forgotten")
    func bound() {
        let notes = FindNotes()
        for number in 0..<FindNotes.capacity + 100 {
            notes.note(
                "SELECT * FROM \"T\(number)\" WHERE \"a\" = $1", took: .milliseconds(number + 20), isTimeout: false)
        }
        let kept = notes.take()
        #expect(kept.count == FindNotes.capacity)
        #expect(kept.values.allSatisfy { $0.total >= 120 })
        #expect(notes.take().isEmpty)
    }

    @Test("of one sender count up to a bound, until they are written; what the server asks itself counts without")
    func boundOfSender() {
        let notes = FindNotes()
        let most = FindNotes.mostOfSender.calls
        func note(_ table: String, _ sender: Sender, times: Int, milliseconds: Int = 30) {
            for _ in 0..<times {
                notes.note(
                    "SELECT * FROM \"\(table)\" WHERE \"a\" = $1", took: .milliseconds(milliseconds),
                    isTimeout: false, of: sender)
            }
        }
        note("A", Sender(address: "10.1.2.3"), times: most + 50)
        note("A", Sender(address: "10.9.2.3"), times: 5)
        note("B", .server, times: most + 50)
        note("C", Sender(address: "10.7.2.3"), times: 10, milliseconds: 9000)
        let calls = Dictionary(uniqueKeysWithValues: notes.take().map { ($0.key.table.text, $0.value.calls) })
        #expect(calls == ["A": most + 5, "B": most + 50, "C": 3])
        note("A", Sender(address: "10.1.2.3"), times: 1)
        #expect(notes.take().values.map(\.calls) == [1])
        for number in 0..<FindNotes.mostSenders + 300 {
            note("D", Sender(address: "10.\(number / 250).\(number % 250).1"), times: 1)
        }
        #expect(notes.take().values.map(\.calls) == [FindNotes.mostSenders + most])
    }
}
