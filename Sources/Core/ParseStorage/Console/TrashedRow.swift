import JSON
import ParseModel
import Postgres

/// Converts a row to a JSON value from which it can be restored: PostgreSQL's JSON of the row, plus the details that
/// JSON loses.
struct TrashedRow {
    let schema: ClassSchema

    private func columns(where isWanted: (FieldType) -> Bool) -> [Name] {
        schema.fields.compactMap { name, field in
            isWanted(field.type) && TableLayout.hasColumn(name.text, of: schema.name, type: field.type) ? name : nil
        }
    }

    private static let whole = "to_jsonb(_gone) - '_number'"

    /// The SQL of the row as jsonb. Numbers are stored as strings, because jsonb has no negative zero.
    var content: String {
        let numbers = columns { $0 == .number }
        guard !numbers.isEmpty else { return Self.whole }
        let names = numbers.map { SQL.literal($0.text) }.joined(separator: ", ")
        let values = numbers.map { "_gone.\(SQL.identifier($0.text))::text" }.joined(separator: ", ")
        return "\(Self.whole) || jsonb_object(ARRAY[\(names)]::text[], ARRAY[\(values)]::text[])"
    }

    /// Returns the SQL for the names of columns that contain JSON null, as opposed to SQL NULL.
    func nulls(_ builder: inout SQLBuilder) -> String {
        let columns = columns { TableLayout.columnType($0) == "jsonb" }
        guard !columns.isEmpty else { return "NULL::text[]" }
        let names = builder.bind(.textArray(columns.texts))
        let values = columns.map { "jsonb_typeof(_gone.\(SQL.identifier($0.text)))" }.joined(separator: ", ")
        return
            "ARRAY(SELECT _name FROM unnest(\(names), ARRAY[\(values)]) AS _column(_name, _type) WHERE _type = 'null')"
    }

    /// Returns the SQL of a NULL row of a table. With `NULL::table` PostgreSQL wouldn't notice that the table was
    /// recreated, and would reuse the old plan of a prepared statement.
    static func none(of table: String) -> String { "(SELECT _none FROM \(table) AS _none LIMIT 0)" }

    /// The jsonb columns, and the JSON type that each should have.
    var jsonKinds: (names: [String], kinds: [String]) {
        let names = columns { TableLayout.columnType($0) == "jsonb" }.texts.sorted()
        return (names, names.map { schema.fields[Name($0)]?.type == .array ? "array" : "object" })
    }

    /// Returns the SQL for the members of the relations that the object owns.
    ///
    /// - Parameter id: The object's id as SQL. It must not be a column, because Citus can't run a subquery per changed
    ///   row.
    func relations(of id: String, _ builder: inout SQLBuilder) -> String {
        let relations = schema.relations
        guard !relations.isEmpty else { return "NULL::jsonb" }
        let names = builder.bind(.textArray(relations.map(\.field)))
        let members = relations.map { _, table in
            "(SELECT jsonb_agg(\"relatedId\") FROM \(SQL.identifier(table)) WHERE \"owningId\" = \(id))"
        }
        return """
            (SELECT jsonb_object_agg(_name, _members)
             FROM unnest(\(names), ARRAY[\(members.joined(separator: ", "))]::jsonb[]) AS _relation(_name, _members)
             WHERE _members IS NOT NULL)
            """
    }

    /// Returns the SQL for the names of fields that the trashed object has and the class no longer has.
    func lost(_ builder: inout SQLBuilder) -> String {
        let (table, relations) = (
            builder.bind(.text(SQL.identifier(schema.name))), builder.bind(.textArray(schema.relations.map(\.field)))
        )
        return """
            ARRAY(SELECT _name FROM jsonb_each(_kept."_row") AS _value(_name, _value) WHERE _value <> 'null'
                AND _name NOT IN (SELECT attname::text FROM pg_attribute
                    WHERE attrelid = to_regclass(\(table)) AND attnum > 0 AND NOT attisdropped)
            UNION ALL SELECT _name FROM jsonb_object_keys(_kept."_relations") AS _relation(_name)
                WHERE _name <> ALL (\(relations)) ORDER BY 1)
            """
    }

    /// Returns the parts of a statement that restore the members of the relations.
    func restoredRelations(_ builder: inout SQLBuilder) -> [String] {
        schema.relations.enumerated().map { index, relation in
            """
            _related\(index) AS (
                INSERT INTO \(SQL.identifier(relation.table)) ("relatedId", "owningId")
                SELECT _member, _kept."_object" FROM _kept, jsonb_array_elements_text(
                    _kept."_relations" -> \(builder.bind(.text(relation.field)))) AS _members(_member)
                ON CONFLICT DO NOTHING)
            """
        }
    }
}
