/// One statement with its parameters.
public struct Statement: Sendable {
    /// The SQL, with `$1`, `$2`… for the parameters.
    public var sql: String
    /// The parameters, in the order of their numbers.
    public var parameters: [PostgresParameter]
    /// Whether it takes next to no time, as one that finds rows by their keys: then the answers of reads that were sent
    /// just before may wait for it.
    public var isQuick: Bool

    /// Makes a statement.
    ///
    /// The same text with the same types of parameters finds its prepared statement again.
    public init(_ sql: String, _ parameters: [PostgresParameter] = [], isQuick: Bool = false) {
        self.sql = sql
        self.parameters = parameters
        self.isQuick = isQuick
    }
}
