import JSON
import ParseModel
import Postgres

/// The values of a class of which no two objects may have the same, where its objects lie on several servers, each of which
/// looks at its own.
struct UniqueValues {
    /// Queries that give them: `class`, `index`, `value` and `objectId`, for each object that has one.
    private(set) var queries: [String] = []
    /// The fields on which they depend.
    private(set) var fields: Set<Name> = []

    /// Reads a class; nil where PostgreSQL looks after all that must be unique.
    init?(_ schema: ClassSchema) {
        guard schema.distributedBy != nil else { return nil }
        self.init(schema.indexes, of: schema)
        if schema.name == "_User" {
            fields.formUnion(["username", "email", "authData"])
            queries.append(Self.ofUsers)
        }
        if queries.isEmpty { return nil }
    }

    /// Reads some indexes of a class.
    init(_ indexes: JSONObject, of schema: ClassSchema) {
        for (name, definition) in indexes {
            let definition = definition.objectValue ?? [:]
            if schema.isUniqueByRows(definition) { add(name, definition, schema) }
        }
    }

    /// By the names of the indexes that look after them where all users are on one server.
    private static let ofUsers = """
        SELECT '_User' AS "class", n."index", n."value", u."objectId" FROM "_User" AS u \
        CROSS JOIN LATERAL roost_unique_values(u."username", u."email", u."authData") AS n
        """

    private mutating func add(_ index: Name, _ definition: JSONObject, _ schema: ClassSchema) {
        var (values, conditions): ([String], [String]) = ([], [])
        for key in IndexOptions.columns(of: definition).keys {
            let field = IndexDefinition.field(key.text, of: schema)
            guard let type = schema.type(of: field) else { continue }
            let column = SQL.identifier(field)
            values.append(Self.text(column, type))
            // As in an index, what has no value is like nothing else.
            conditions.append("\(column) IS NOT NULL")
        }
        if let condition = (try? IndexOptions(definition, of: schema))?.condition {
            conditions.append("(\(condition))")
        }
        queries.append(
            """
            SELECT \(SQL.literal(schema.name)) AS "class", \(SQL.literal(index.text)) AS "index", \
            jsonb_build_array(\(values.joined(separator: ", ")))::text AS "value", "objectId" \
            FROM \(SQL.identifier(schema.name)) WHERE \(conditions.joined(separator: " AND "))
            """)
        fields.formUnion(IndexOptions.keys(of: definition).map { Name(IndexDefinition.field($0, of: schema)) })
    }

    /// A column as what is equal exactly when its values are.
    private static func text(_ column: String, _ type: FieldType) -> String {
        switch type {
        case .number, .boolean: column
        // In no session's zone.
        case .date: "\(column) AT TIME ZONE 'UTC'"
        default: "\(column)::text"
        }
    }
}

extension ClassSchema {
    /// Whether the values of an index are unique by rows of their own: objects that have the same ones may lie on
    /// several servers.
    ///
    /// - Parameter definition: The fields of the index, and its options.
    func isUniqueByRows(_ definition: JSONObject) -> Bool {
        guard let distributedBy, definition["$unique"]?.boolValue == true else { return false }
        return !IndexOptions.columns(of: definition).keys.contains {
            Name(IndexDefinition.field($0.text, of: self)) == distributedBy
        }
    }
}
