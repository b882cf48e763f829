import Encoding

/// One statement with its parameters.
public struct Statement: Sendable {
    /// The SQL, with `$1`, `$2`… for the parameters.
    public var sql: String
    /// The parameters, in the order of their numbers.
    public var parameters: [PostgresParameter]

    /// Makes a statement.
    ///
    /// The same text with the same types of parameters finds its prepared statement again.
    public init(_ sql: String, _ parameters: [PostgresParameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }

    /// What limits the time of the statements after it, until the transaction ends.
    public static func limitingTime(to limit: Duration) -> Statement {
        Statement("SELECT set_config('statement_timeout', $1, true)", [.text("\(max(1, limit.milliseconds))ms")])
    }
}

/// Names the one row that a request changes or locks first: requests with the same key wait for each other here, not in the
/// database.
///
/// It is a hash of the name's bytes, which is the same in every process: two whose rows go in the order of their keys never
/// wait for each other crosswise. Rows with the same hash only wait where they need not.
package struct ConflictKey: Hashable, Comparable, Sendable {
    private let hash: UInt64

    /// The key of a row.
    package init(_ name: String) { hash = StableHash.of(name) }

    package static func < (one: ConflictKey, other: ConflictKey) -> Bool { one.hash < other.hash }
}
