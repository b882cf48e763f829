import JSON
import Postgres

struct IndexCandidate: Hashable, Sendable {
    struct Key: Hashable, Sendable {
        let column: Name
        /// Whether the index serves prefix searches in every collation (`text_pattern_ops`).
        var isPattern = false
    }

    /// The name prefix that marks advised indexes.
    static let prefix = "roost_advice:"

    let table: Name
    let keys: [Key]

    /// The index name, which is the same in every process.
    var name: String {
        let columns = keys.map { $0.column.text + ($0.isPattern ? "^" : "") }
        return IndexName.ofRoost("\(Self.prefix)\(table):\(columns.joined(separator: ","))")
    }

    /// The statement that builds the index without blocking writes.
    var statement: String {
        let columns = keys.map { SQL.identifier($0.column.text) + ($0.isPattern ? " text_pattern_ops" : "") }
        return "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(SQL.identifier(name)) ON \(SQL.identifier(table.text)) "
            + "(\(columns.joined(separator: ", ")))"
    }

    /// Whether another index begins with all keys of this one, so that this one is redundant.
    func isServed(by other: IndexCandidate) -> Bool {
        other != self && other.table == table && other.keys.count >= keys.count
            && other.keys.prefix(keys.count).elementsEqual(keys)
    }
}
