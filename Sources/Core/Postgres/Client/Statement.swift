import Encoding

/// An SQL statement with its parameters.
public struct Statement: Sendable {
    /// The SQL, with `$1`, `$2`… for the parameters.
    public var sql: String
    /// The values of `$1`, `$2`…, in order.
    public var parameters: [PostgresParameter]

    /// Creates a statement. Statements with the same SQL and parameter types share a prepared statement.
    public init(_ sql: String, _ parameters: [PostgresParameter] = []) {
        self.sql = sql
        self.parameters = parameters
    }

    /// Returns a statement that limits the time of each statement after it, until the end of the transaction.
    public static func limitingTime(to limit: Duration) -> Statement {
        Statement("SELECT set_config('statement_timeout', $1, true)", [.text("\(max(1, limit.milliseconds))ms")])
    }
}

/// Identifies the row that a request changes or locks first. Requests with the same key wait for each other in the
/// client instead of holding several separate connections.
///
/// The key is a hash of the name's bytes and the same in every process. Changes sorted by key therefore never deadlock.
/// A hash collision only causes an unnecessary wait.
package struct ConflictKey: Hashable, Comparable, Sendable {
    private let hash: UInt64

    package init(_ name: String) { hash = StableHash.of(name) }

    package static func < (one: ConflictKey, other: ConflictKey) -> Bool { one.hash < other.hash }
}
