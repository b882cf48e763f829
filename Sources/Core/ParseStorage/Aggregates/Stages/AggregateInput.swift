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
enum AggregateInput {
    /// A query for the columns of a class.
    case rows(ClassSchema, query: String)
    /// A query for one jsonb column named `doc`.
    case documents(query: String)

    init(of schema: ClassSchema) {
        self = .rows(schema, query: "SELECT * FROM \(SQL.identifier(schema.name))")
    }

    /// Creates the input of a `$lookup`: the rows of a class, without session tokens and second factors.
    init(lookedUp schema: ClassSchema) {
        self.init(of: schema)
        switch schema.name {
        case "_Session":
            var visible = schema
            visible.fields["sessionToken"] = nil
            self = .rows(visible, query: "SELECT * FROM \(SQL.identifier(schema.name))")
        case "_User":
            let columns = schema.fields.compactMap { name, field -> String? in
                let column = SQL.identifier(name.text)
                guard TableLayout.hasColumn(name.text, of: schema.name, type: field.type) else { return nil }
                return name == "authData" ? "\(column) - 'mfa' AS \(column)" : column
            }
            let all = (columns + ["\"_rperm\"", "\"_wperm\""]).joined(separator: ", ")
            self = .rows(schema, query: "SELECT \(all) FROM \(SQL.identifier(schema.name))")
        default: break
        }
    }

    /// Whether this is a whole class, before any stage.
    var isClass: Bool {
        guard let schema else { return false }
        return [AggregateInput(of: schema), AggregateInput(lookedUp: schema)].contains { $0.query == query }
    }

    /// The class of the rows, or nil for documents.
    var schema: ClassSchema? {
        switch self {
        case .rows(let schema, _): schema
        case .documents: nil
        }
    }

    static let readersOfColumns: Set<Name> = [
        "$match", "$sort", "$limit", "$skip", "$sample", "$group", "$count", "$sortByCount", "$bucket", "$facet",
    ]

    /// The FROM clause for this input. Rows have the class name as their alias, so that conditions find the columns.
    ///
    /// OFFSET prevents PostgreSQL from inlining a document's expression wherever it is used, which would multiply the
    /// size of the statement with each stage.
    var source: String {
        switch self {
        case .rows(let schema, let query): "FROM (\(query)) AS \(SQL.identifier(schema.name))"
        case .documents(let query): "FROM (SELECT * FROM (\(query)) AS _stage OFFSET 0) AS _input"
        }
    }

    var query: String {
        switch self {
        case .rows(_, let query), .documents(let query): query
        }
    }

    /// The SELECT list that passes rows or documents on unchanged.
    var everything: String {
        switch self {
        case .rows: "*"
        case .documents: "doc"
        }
    }

    var document: AggregateDocument {
        switch self {
        case .rows(let schema, _): .row(schema)
        case .documents: .json("doc")
        }
    }

    /// Returns the same kind of input with a different query.
    func replaced(by query: String) -> AggregateInput {
        switch self {
        case .rows(let schema, _): .rows(schema, query: query)
        case .documents: .documents(query: query)
        }
    }
}
