import JSON
import ParseModel

/// What an expression of a pipeline looks at.
enum AggregateDocument {
    case row(ClassSchema)
    /// A document that an earlier stage made, as an expression of jsonb.
    case json(String)
}

/// The query that a stage reads.
///
/// Rows stay rows for as long as no stage asks for documents: to make documents of rows that are only counted, grouped
/// or left out costs many times what the rest does.
enum AggregateInput {
    /// A query that gives the columns of a class.
    case rows(ClassSchema, query: String)
    /// A query that gives one column of jsonb, called `doc`.
    case documents(query: String)

    init(of schema: ClassSchema) {
        self = .rows(schema, query: "SELECT * FROM \(SQLBuilder.quote(schema.name))")
    }

    /// The rows of a class for a `$lookup`: without session tokens and second factors, which are no part of the objects
    /// that other classes refer to.
    init(lookedUp schema: ClassSchema) {
        self.init(of: schema)
        switch schema.name {
        case "_Session":
            var shown = schema
            shown.fields["sessionToken"] = nil
            self = .rows(shown, query: "SELECT * FROM \(SQLBuilder.quote(schema.name))")
        case "_User":
            let columns = schema.fields.compactMap { name, field -> String? in
                let column = SQLBuilder.quote(name.text)
                guard TableLayout.hasColumn(name.text, of: schema.name, type: field.type) else { return nil }
                return name == "authData" ? "\(column) - 'mfa' AS \(column)" : column
            }
            let all = (columns + ["\"_rperm\"", "\"_wperm\""]).joined(separator: ", ")
            self = .rows(schema, query: "SELECT \(all) FROM \(SQLBuilder.quote(schema.name))")
        default: break
        }
    }

    /// Whether this is a class as it is stored, before any stage.
    var isClass: Bool {
        guard let schema else { return false }
        return [AggregateInput(of: schema), AggregateInput(lookedUp: schema)].contains { $0.query == query }
    }

    /// The class whose rows these are, or nil for documents.
    var schema: ClassSchema? {
        switch self {
        case .rows(let schema, _): schema
        case .documents: nil
        }
    }

    /// Stages that read columns as well as documents.
    private static let readersOfColumns: Set<Name> = [
        "$match", "$sort", "$limit", "$skip", "$sample", "$group", "$count", "$sortByCount", "$bucket", "$facet",
    ]

    /// Whether a stage needs no documents.
    static func readsColumns(_ stage: String) -> Bool { readersOfColumns.contains(stage) }

    /// The source of the query that reads this. Rows are called what their class is, so that conditions find columns.
    ///
    /// OFFSET keeps PostgreSQL from putting the expression of a document in the place of each mention of it, by which the
    /// statement would grow with the product of all stages.
    var source: String {
        switch self {
        case .rows(let schema, let query): "FROM (\(query)) AS \(SQLBuilder.quote(schema.name))"
        case .documents(let query): "FROM (SELECT * FROM (\(query)) AS _stage OFFSET 0) AS _input"
        }
    }

    var query: String {
        switch self {
        case .rows(_, let query), .documents(let query): query
        }
    }

    /// What a stage selects that leaves rows, or documents, as they are.
    var everything: String {
        switch self {
        case .rows: "*"
        case .documents: "doc"
        }
    }

    /// What expressions look at.
    var document: AggregateDocument {
        switch self {
        case .rows(let schema, _): .row(schema)
        case .documents: .json("doc")
        }
    }

    /// The same kind of input by another query.
    func replaced(by query: String) -> AggregateInput {
        switch self {
        case .rows(let schema, _): .rows(schema, query: query)
        case .documents: .documents(query: query)
        }
    }
}
