import Synchronization
import Tasks

/// The texts of statements that make rows.
///
/// Clients make objects of few shapes, and to write such a text takes longer than all else about it. A text holds
/// nothing but names and numbers, so that it is right for as long as the process lives.
final class InsertTexts: Sendable {
    /// What distinguishes one text from another.
    struct Shape: Hashable {
        var className: String
        var columns: [String]
        /// How many rows the statement makes.
        var rows: Int
        /// What it gives of each; empty for nothing.
        var returning = ""
    }

    /// As many as a connection has prepared statements.
    private static let capacity = 512
    /// Longer ones, in bytes, are few, and would make the capacity worth much memory.
    private static let longest = 16_384

    private let texts = Mutex(BoundedTable<Shape, String>(capacity: capacity))

    /// The statement for rows of a shape, whose parameters are their values, row by row.
    func text(of shape: Shape) -> String {
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
