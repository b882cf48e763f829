import JSON
import ParseModel
import Postgres

/// Collects the parameters of a statement. Values from requests become parameters, except in index definitions.
package struct SQLBuilder {
    package private(set) var parameters: [PostgresParameter] = []
    /// Whether values are inlined, for statements without parameters such as index definitions.
    private let writesValues: Bool
    /// The most recently added principals, and their placeholder.
    private var principals: (names: [Name], text: String)?

    package init(writesValues: Bool = false) {
        self.writesValues = writesValues
        if !writesValues { parameters.reserveCapacity(6) }
    }

    /// Adds a value and returns its placeholder, such as `$3`, or returns its literal if values are inlined.
    package mutating func bind(_ parameter: PostgresParameter) -> String {
        if writesValues, let text = Self.text(parameter) { return text }
        parameters.append(parameter)
        return "$\(parameters.count)"
    }

    /// Adds the caller's principals. A repeated call with the same principals reuses the parameter.
    package mutating func bind(principals names: [Name]) -> String {
        if let principals, principals.names == names { return principals.text }
        let text = bind(.textArray(names.texts))
        principals = (names, text)
        return text
    }

    /// Returns a value as SQL, or nil for types that are always bound.
    private static func text(_ parameter: PostgresParameter) -> String? {
        switch parameter {
        case .text(let text): SQL.literal(text)
        case .bool(let flag): flag ? "TRUE" : "FALSE"
        case .double(let number): "\(SQL.literal("\(number)"))::double precision"
        case .timestamp(let milliseconds):
            "\(SQL.literal(ParseDate(milliseconds: milliseconds).iso))::timestamp with time zone"
        default: nil
        }
    }
}
