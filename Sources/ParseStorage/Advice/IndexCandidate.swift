import JSON
import Postgres

struct IndexCandidate: Hashable, Sendable {
    struct Key: Hashable, Sendable {
        let column: Name
        /// Whether the index finds what begins with a text, in every collation.
        var isPattern = false
    }

    /// What names of indexes begin with that were advised: by them they are known again.
    static let prefix = "roost_advice:"

    let table: Name
    let keys: [Key]
    /// Whether it holds who may read a row besides, so that rows are counted without the table.
    var holdsReaders = false

    /// Its name: the same in every process.
    var name: String {
        let columns = keys.map { $0.column.text + ($0.isPattern ? "^" : "") } + (holdsReaders ? ["_rperm"] : [])
        return IndexName.ofRoost("\(Self.prefix)\(table):\(columns.joined(separator: ","))")
    }

    var words: String { keys.map(\.column.text).joined(separator: ", ") }

    /// What stands behind `CREATE INDEX` and the name.
    var definition: String {
        let columns = keys.map { SQL.identifier($0.column.text) + ($0.isPattern ? " text_pattern_ops" : "") }
        return "ON \(SQL.identifier(table.text)) (\(columns.joined(separator: ", ")))"
            + (holdsReaders ? " INCLUDE (\"_rperm\")" : "")
    }

    /// The statement that builds it beside other work.
    var statement: String { "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(SQL.identifier(name)) \(definition)" }

    /// Whether another index of the table does all that this one does.
    func isServed(by other: IndexCandidate) -> Bool {
        other != self && other.table == table && other.keys.count >= keys.count
            && other.keys.prefix(keys.count).elementsEqual(keys) && (other.holdsReaders || !holdsReaders)
    }
}
