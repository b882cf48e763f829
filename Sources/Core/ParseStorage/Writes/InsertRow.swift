import Limits
import Postgres
import Synchronization

/// A row to insert. Rows of the same shape are combined into one statement.
package struct InsertRow {
    let className: String
    /// The columns that have a value, in the order of `parameters`.
    private(set) var columns: [String] = []
    private(set) var parameters: [PostgresParameter] = []
    /// The SQL list of a RETURNING clause, or empty for none.
    var returning = ""
    /// The statements that insert the rows of the object's relations.
    package var joins: [Statement] = []

    /// - Parameter capacity: The approximate number of columns with a value.
    package init(className: String, capacity: Int = 0) {
        self.className = className
        columns.reserveCapacity(capacity)
        parameters.reserveCapacity(capacity)
    }

    package mutating func set(_ column: String, to parameter: PostgresParameter) {
        columns.append(column)
        parameters.append(parameter)
    }

    /// The maximum number of rows per statement. Wide rows are limited further, so that a statement stays below
    /// PostgreSQL's limit of 65,535 parameters.
    private static let maxRows = 64
    private static let maxParameters = 60_000

    /// Returns the INSERT statements for rows and then for those of their relations, to be sent as one group.
    /// Neighboring rows of the same shape are combined.
    ///
    /// Rows are combined in powers of two, so that a class has few distinct statements, which stay prepared.
    package static func statements(_ rows: [InsertRow]) -> [Statement] {
        var statements: [Statement] = []
        var start = 0
        while start < rows.count {
            let first = rows[start]
            let limit = min(maxRows, max(1, maxParameters / first.columns.count))
            var end = start + 1
            while end < rows.count, end - start < limit, first.hasShape(of: rows[end]) { end += 1 }
            var count = 1
            while count * 2 <= end - start { count *= 2 }
            let shape = InsertTexts.Shape(
                className: first.className, columns: first.columns, rows: count, returning: first.returning)
            let parameters = count == 1 ? first.parameters : rows[start..<start + count].flatMap(\.parameters)
            statements.append(Statement(texts.text(of: shape), parameters))
            start += count
        }
        return statements + rows.flatMap(\.joins)
    }

    private func hasShape(of other: InsertRow) -> Bool {
        className.hasSameBytes(as: other.className) && columns == other.columns && returning == other.returning
    }

    private static let texts = InsertTexts()
}

/// A cache of INSERT statements.
///
/// Clients create objects of few shapes, and building the SQL takes longer than the rest of compiling an insert. The
/// statements contain only names and numbers, so the cache never becomes stale.
package final class InsertTexts: Sendable {
    /// The properties that determine the text of a statement.
    package struct Shape: Hashable {
        var className: String
        var columns: [String]
        var rows: Int
        /// The SQL list of the RETURNING clause, or empty for none.
        var returning = ""

        package init(className: String, columns: [String], rows: Int, returning: String = "") {
            self.className = className
            self.columns = columns
            self.rows = rows
            self.returning = returning
        }
    }

    /// The maximum number of cached statements. Equals the default number of prepared statements per connection.
    private static let capacity = 512
    /// The maximum size of a cached statement in bytes. Longer ones are rare and waste memory.
    private static let longest = 16_384

    private let texts = Mutex(BoundedTable<Shape, String>(capacity: capacity))

    package init() {}

    /// Returns the statement for rows of a shape. Its parameters are the values, row by row.
    package func text(of shape: Shape) -> String {
        if let known = texts.withLock({ $0.value(of: shape) }) { return known }
        let text = Self.write(shape)
        guard text.utf8.count <= Self.longest else { return text }
        _ = texts.withLock { $0.set(text, for: shape) }
        return text
    }

    private static func write(_ shape: Shape) -> String {
        let columns = shape.columns.map(SQL.identifier).joined(separator: ", ")
        let rows = (0..<shape.rows).map { row in
            let first = row * shape.columns.count
            return "(" + shape.columns.indices.map { "$\(first + $0 + 1)" }.joined(separator: ", ") + ")"
        }
        let insert =
            "INSERT INTO \(SQL.identifier(shape.className)) (\(columns)) VALUES \(rows.joined(separator: ", "))"
        return shape.returning.isEmpty ? insert : "\(insert) RETURNING \(shape.returning)"
    }
}
