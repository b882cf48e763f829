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
