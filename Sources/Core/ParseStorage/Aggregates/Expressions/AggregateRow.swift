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
        var members: [(name: String, value: String)] = []
        var missing: [String] = []
        var parts: [String] = []
        func endPart() {
            guard !members.isEmpty else { return }
            parts.append("(\(Self.object(members)) - ARRAY[\(missing.joined(separator: ", "))])")
            (members, missing) = ([], [])
        }
        for (name, field) in schema.fields
        where TableLayout.hasColumn(name.text, of: schema.name, type: field.type) && fields?.contains(name) ?? true {
            let (column, name) = (SQL.identifier(name.text), SQL.literal(name.text))
            members.append((name, Self.value(column, field.type)))
            missing.append("CASE WHEN \(column) IS NULL THEN \(name) END")
            if members.count == Self.maxMembers { endPart() }
        }
        endPart()
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
