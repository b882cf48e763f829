import Postgres

/// The parameters of a statement that is being written: every value of a request becomes one of these.
struct SQLBuilder {
    /// The values, in the order of their numbers.
    private(set) var parameters: [PostgresParameter] = []

    /// Adds a value and gives the text that stands for it, such as `$3`.
    mutating func bind(_ parameter: PostgresParameter) -> String {
        parameters.append(parameter)
        return "$\(parameters.count)"
    }

    /// Adds JSON text.
    mutating func bind(json bytes: [UInt8]) -> String { bind(.jsonb(bytes)) }

    /// Quotes a name, by the one function that does.
    static func quote(_ name: String) -> String { SQL.identifier(name) }
}
