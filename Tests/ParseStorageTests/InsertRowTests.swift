import Postgres
import Testing

@testable import ParseStorage

/// How new rows become statements.
@Suite struct InsertRowTests {
    private static func row(_ columns: [String], of className: String = "Song") -> InsertRow {
        var row = InsertRow(className: className)
        for column in columns { row.set(column, to: .text(column)) }
        return row
    }

    @Test("Neighbours of one class and with the same columns go together, in powers of two")
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

    @Test("No statement has more parameters than PostgreSQL takes")
    func wideRows() {
        let wide = Self.row((0..<1500).map { "c\($0)" })
        let statements = InsertRow.statements(Array(repeating: wide, count: 100))
        #expect(statements.allSatisfy { $0.parameters.count <= 65535 })
        #expect(statements.reduce(0) { $0 + $1.parameters.count } == 150_000)
    }

    @Test("The rows of relations come after all objects")
    func relations() {
        var related = Self.row(["objectId"])
        related.joins = [Statement("INSERT INTO join")]
        let statements = InsertRow.statements([related, Self.row(["objectId"])])
        #expect(statements.map(\.sql).last == "INSERT INTO join")
        #expect(statements.count == 2)
    }
}
