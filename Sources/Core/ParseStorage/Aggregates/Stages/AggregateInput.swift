import JSON
import ParseModel
import Postgres

/// The source of the fields in an expression.
enum AggregateDocument {
    case row(ClassSchema)
    /// A document from an earlier stage, as a jsonb expression.
    case json(String)
}

/// The input of a stage.
///
/// Rows are converted to documents only if a stage needs it: for rows that are merely counted, grouped or filtered out,
/// the conversion would cost many times more than the rest.
struct AggregateInput {
    /// The class of the rows, or nil for documents.
    let schema: ClassSchema?
    /// A query for the columns of the class or, for documents, for one jsonb column named `doc`.
    let query: String

    static func documents(query: String) -> AggregateInput { AggregateInput(schema: nil, query: query) }

    static func rows(of schema: ClassSchema) -> AggregateInput {
        AggregateInput(schema: schema, query: "SELECT * FROM \(SQL.identifier(schema.name))")
    }

    /// Returns the input of a `$lookup`: the rows of a class, without session tokens and second factors.
    static func rows(lookedUp schema: ClassSchema) -> AggregateInput {
        switch schema.name {
        case "_Session":
            var visible = schema
            visible.fields["sessionToken"] = nil
            return rows(of: visible)
        case "_User":
            let columns = schema.fields.compactMap { name, field -> String? in
                let column = SQL.identifier(name.text)
                guard TableLayout.hasColumn(name.text, of: schema.name, type: field.type) else { return nil }
                return name == "authData" ? "\(column) - 'mfa' AS \(column)" : column
            }
            let all = (columns + ["\"_rperm\"", "\"_wperm\""]).joined(separator: ", ")
            return AggregateInput(schema: schema, query: "SELECT \(all) FROM \(SQL.identifier(schema.name))")
        default: return rows(of: schema)
        }
    }

    /// Whether this is a whole class, before any stage.
    var isClass: Bool {
        guard let schema else { return false }
        return [Self.rows(of: schema), .rows(lookedUp: schema)].contains { $0.query == query }
    }

    static let readersOfColumns: Set<Name> = [
        "$match", "$sort", "$limit", "$skip", "$sample", "$group", "$count", "$sortByCount", "$bucket", "$facet",
    ]

    /// The FROM clause for this input. Rows have the class name as their alias, so that conditions find the columns.
    ///
    /// OFFSET prevents PostgreSQL from inlining a document's expression wherever it is used, which would multiply the
    /// size of the statement with each stage.
    var source: String {
        schema.map { "FROM (\(query)) AS \(SQL.identifier($0.name))" }
            ?? "FROM (SELECT * FROM (\(query)) AS _stage OFFSET 0) AS _input"
    }

    /// The SELECT list that passes rows or documents on unchanged.
    var everything: String { schema == nil ? "doc" : "*" }

    var document: AggregateDocument { schema.map { .row($0) } ?? .json("doc") }

    /// Returns the same kind of input with a different query.
    func replaced(by query: String) -> AggregateInput { AggregateInput(schema: schema, query: query) }
}
