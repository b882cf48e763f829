import JSON
import ParseModel
import Postgres

/// Writes rows as jsonb.
enum AggregateRow {
    /// Returns the SQL for a row's document without its null fields. The fields are split into parts, because
    /// subtracting a list of names searches the whole list for each field.
    ///
    /// - Parameter fields: The fields to include, or nil for all.
    static func document(_ schema: ClassSchema, _ fields: Set<Name>? = nil) -> String {
        let columns = schema.fields.filter { name, field in
            TableLayout.hasColumn(name.text, of: schema.name, type: field.type) && fields?.contains(name) ?? true
        }.map { name, field in (column: SQL.identifier(name.text), name: SQL.literal(name.text), type: field.type) }
        let parts = stride(from: 0, to: columns.count, by: maxMembers).map { start in
            let some = columns[start..<min(start + maxMembers, columns.count)]
            let missing = some.map { "CASE WHEN \($0.column) IS NULL THEN \($0.name) END" }
            let members = some.map { (name: $0.name, value: value($0.column, $0.type)) }
            return "(\(object(members)) - ARRAY[\(missing.joined(separator: ", "))])"
        }
        return parts.isEmpty ? "'{}'::jsonb" : "(\(parts.joined(separator: " || ")))"
    }

    /// Returns a column as jsonb, or NULL if the column is NULL.
    static func value(_ column: String, _ type: FieldType) -> String {
        switch type {
        // Numbers that JSON can't represent become null, as in all other responses.
        case .number: "roost_json(\(column))"
        case .file: whenPresent(column, "jsonb_build_object('__type', 'File', 'name', \(column))")
        case .geoPoint:
            whenPresent(
                column,
                "jsonb_build_object('__type', 'GeoPoint', 'latitude', roost_json((\(column))[1]), "
                    + "'longitude', roost_json((\(column))[0]))")
        case .polygon: "to_jsonb(\(column)::text)"
        case .pointer, .date: whenPresent(column, FilterCompiler.jsonValue(column, type))
        default: FilterCompiler.jsonValue(column, type)
        }
    }

    /// The maximum bytes of the lists that a stage or operator adds to a document, as in MongoDB's documents. PostgreSQL
    /// takes several times as much memory while it builds a list.
    static let listBytes = 16 * 1024 * 1024

    /// Returns the SQL of a list with the values of a subquery's column, `[]` if `aggregate` is NULL. The statement fails
    /// as soon as the list exceeds its share of ``listBytes``; with DISTINCT, once the values are sorted.
    static func list(_ aggregate: String, of column: String, amongLists lists: Int = 1) -> String {
        "CASE WHEN roost_size(\(column), \(listBytes / lists)) >= 0 THEN COALESCE(\(aggregate), '[]') END"
    }

    private static func whenPresent(_ column: String, _ value: String) -> String {
        "CASE WHEN \(column) IS NOT NULL THEN \(value) END"
    }

    /// Whether SQL sorts columns of a type in the same order as their jsonb values.
    static func keepsOrder(_ type: FieldType) -> Bool {
        switch type {
        case .string, .number, .boolean, .date: true
        default: false
        }
    }

    /// The maximum number of members per jsonb_build_object, since PostgreSQL functions take at most 100 arguments.
    static let maxMembers = 50

    /// Builds an object from SQL names and values. NULL becomes null.
    static func object(_ members: [(name: String, value: String)]) -> String {
        stride(from: 0, to: members.count, by: maxMembers).map { start in
            let some = members[start..<min(start + maxMembers, members.count)]
            return "jsonb_build_object(\(some.map { "\($0.name), \($0.value)" }.joined(separator: ", ")))"
        }.joined(separator: " || ")
    }
}
