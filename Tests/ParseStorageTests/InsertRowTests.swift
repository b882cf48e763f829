import ParseStorage
import Postgres
import Testing

@Suite struct InsertRowTests {
    private static func row(_ columns: [String], of className: String = "Song") -> InsertRow {
        var row = InsertRow(className: className)
        for column in columns { row.set(column, to: .text(column)) }
        return row
    }

    @Test("Inserts adjacent rows of the same class and columns together, in powers of two")
    func shapes() {
        let plain = Self.row(["objectId", "title"])
        let other = Self.row(["objectId", "title", "plays"])
        let album = Self.row(["objectId", "title"], of: "Album")
        let statements = InsertRow.statements(Array(repeating: plain, count: 7) + [other, album, plain])
        #expect(statements.map(\.parameters.count) == [8, 4, 2, 3, 2, 2])
        #expect(statements[1].sql == #"INSERT INTO "Song" ("objectId", "title") VALUES ($1, $2), ($3, $4)"#)
        #expect(statements[4].sql == #"INSERT INTO "Album" ("objectId", "title") VALUES ($1, $2)"#)
        #expect(InsertRow.statements([]).isEmpty)
    }

    @Test("Cached statement texts are specific to class, column order and row count")
    func rememberedTexts() {
        let texts = InsertTexts()
        func text(_ className: String, _ columns: [String], _ rows: Int) -> String {
            texts.text(of: InsertTexts.Shape(className: className, columns: columns, rows: rows))
        }
        // More shapes than the cache holds, twice.
        for round in 0..<2 {
            for number in 0..<600 {
                let values = round == 0 ? "($1, $2)" : "($1, $2), ($3, $4)"
                #expect(
                    text("Song", ["a", "b\(number)"], round + 1)
                        == #"INSERT INTO "Song" ("a", "b\#(number)") VALUES \#(values)"#)
            }
        }
        #expect(text("Song", ["b", "a"], 1) == #"INSERT INTO "Song" ("b", "a") VALUES ($1, $2)"#)
        #expect(text(#"So"ng"#, [#"a"b"#], 1) == #"INSERT INTO "So""ng" ("a""b") VALUES ($1)"#)
    }

    @Test("No statement has more parameters than PostgreSQL allows")
    func wideRows() {
        let wide = Self.row((0..<1500).map { "c\($0)" })
        let statements = InsertRow.statements(Array(repeating: wide, count: 100))
        #expect(statements.allSatisfy { $0.parameters.count <= 65535 })
        #expect(statements.reduce(0) { $0 + $1.parameters.count } == 150_000)
    }

    @Test("Inserts rows of relations after all objects")
    func relations() {
        var related = Self.row(["objectId"])
        related.joins = [Statement("INSERT INTO join")]
        let statements = InsertRow.statements([related, Self.row(["objectId"])])
        #expect(statements.map(\.sql).last == "INSERT INTO join")
        #expect(statements.count == 2)
    }
}
