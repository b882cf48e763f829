import Postgres
import Synchronization
import Tasks

/// A new row before it becomes a statement, so that several of one shape can become one.
package struct InsertRow {
    let className: String
    /// The columns with values, in the order of the values.
    private(set) var columns: [String] = []
    private(set) var parameters: [PostgresParameter] = []
    /// What the statement gives of the row; empty for nothing.
    var returning = ""
    /// The statements that make the rows of its relations.
    package var joins: [Statement] = []

    /// - Parameter capacity: About how many columns will have a value.
    package init(className: String, capacity: Int = 0) {
        self.className = className
        columns.reserveCapacity(capacity)
        parameters.reserveCapacity(capacity)
    }

    package mutating func set(_ column: String, to parameter: PostgresParameter) {
        columns.append(column)
        parameters.append(parameter)
    }

    /// Rows per statement, unless wide rows reach PostgreSQL's limit of 65,535 parameters.
    private static let mostRows = 64
    private static let mostParameters = 60_000

    /// The statements that make rows, to be sent as one group: neighbours of one shape go together.
    ///
    /// Their numbers are powers of two, so that a class has few different statements, which stay prepared.
    package static func statements(_ rows: [InsertRow]) -> [Statement] {
        var statements: [Statement] = []
        var start = 0
        while start < rows.count {
            let first = rows[start]
            let most = min(mostRows, max(1, mostParameters / first.columns.count))
            var end = start + 1
            while end < rows.count, end - start < most, first.hasShape(of: rows[end]) { end += 1 }
            var count = 1
            while count * 2 <= end - start { count *= 2 }
            statements.append(statement(rows[start..<start + count]))
            start += count
        }
        return statements + rows.flatMap(\.joins)
    }

    private func hasShape(of other: InsertRow) -> Bool {
        className.hasSameBytes(as: other.className) && columns == other.columns && returning == other.returning
    }

    private static func statement(_ rows: ArraySlice<InsertRow>) -> Statement {
        guard let first = rows.first else { return Statement("") }
        let shape = InsertTexts.Shape(
            className: first.className, columns: first.columns, rows: rows.count, returning: first.returning)
        return Statement(texts.text(of: shape), rows.count == 1 ? first.parameters : rows.flatMap(\.parameters))
    }

    private static let texts = InsertTexts()
}

/// The texts of statements that make rows.
///
/// Clients make objects of few shapes, and to write such a text takes longer than all else about it. A text holds
/// nothing but names and numbers, so that it is right for as long as the process lives.
package final class InsertTexts: Sendable {
    /// What distinguishes one text from another.
    package struct Shape: Hashable {
        var className: String
        var columns: [String]
        var rows: Int
        /// What it gives of each; empty for nothing.
        var returning = ""

        package init(className: String, columns: [String], rows: Int, returning: String = "") {
            self.className = className
            self.columns = columns
            self.rows = rows
            self.returning = returning
        }
    }

    /// As many as a connection has prepared statements.
    private static let capacity = 512
    /// Longer ones, in bytes, are rare, and would make the capacity cost much memory.
    private static let longest = 16_384

    private let texts = Mutex(BoundedTable<Shape, String>(capacity: capacity))

    package init() {}

    /// The statement for rows of a shape, whose parameters are their values, row by row.
    package func text(of shape: Shape) -> String {
        if let known = texts.withLock({ $0.value(of: shape) }) { return known }
        let text = Self.write(shape)
        guard text.utf8.count <= Self.longest else { return text }
        _ = texts.withLock { $0.set(text, for: shape) }
        return text
    }

    private static func write(_ shape: Shape) -> String {
        let columns = shape.columns.map(SQLBuilder.quote).joined(separator: ", ")
        let rows = (0..<shape.rows).map { row in
            let first = row * shape.columns.count
            return "(" + shape.columns.indices.map { "$\(first + $0 + 1)" }.joined(separator: ", ") + ")"
        }
        let insert =
            "INSERT INTO \(SQLBuilder.quote(shape.className)) (\(columns)) VALUES \(rows.joined(separator: ", "))"
        return shape.returning.isEmpty ? insert : "\(insert) RETURNING \(shape.returning)"
    }
}
