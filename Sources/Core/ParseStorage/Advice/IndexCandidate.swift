import JSON
import Postgres

struct IndexCandidate: Hashable, Sendable {
    struct Key: Hashable, Sendable {
        let column: Name
        /// Whether the index finds what begins with a text, in every collation.
        var isPattern = false
    }

    /// The start of the names of advised indexes, by which they are recognized.
    static let prefix = "roost_advice:"

    let table: Name
    let keys: [Key]

    /// Its name: the same in every process.
    var name: String {
        let columns = keys.map { $0.column.text + ($0.isPattern ? "^" : "") }
        return IndexName.ofRoost("\(Self.prefix)\(table):\(columns.joined(separator: ","))")
    }

    /// The statement that builds it beside other work.
    var statement: String {
        let columns = keys.map { SQL.identifier($0.column.text) + ($0.isPattern ? " text_pattern_ops" : "") }
        return "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(SQL.identifier(name)) ON \(SQL.identifier(table.text)) "
            + "(\(columns.joined(separator: ", ")))"
    }

    /// Whether another index of the table does all that this one does.
    func isServed(by other: IndexCandidate) -> Bool {
        other != self && other.table == table && other.keys.count >= keys.count
            && other.keys.prefix(keys.count).elementsEqual(keys)
    }
}
