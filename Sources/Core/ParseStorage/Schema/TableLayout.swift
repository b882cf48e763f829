import Encoding
import JSON
import ParseModel
import Postgres

/// parse-server's table layout for classes. Roost and parse-server must each be able to run on tables that the other
/// created.
package enum TableLayout {
    /// The classes whose tables have no permission lists.
    package static let classesWithoutACL: Set<Name> = ["_Hooks", "_GlobalConfig", "_GraphQLConfig"]

    /// Returns the SQL type of a field's column, or nil for types without a column.
    package static func columnType(_ type: FieldType) -> String? {
        switch type {
        case .string, .pointer, .file: "text"
        case .number: "double precision"
        case .boolean: "boolean"
        case .date: "timestamp with time zone"
        case .object, .array, .bytes: "jsonb"
        case .geoPoint: "point"
        case .polygon: "polygon"
        case .acl, .relation: nil
        }
    }

    /// Returns the type of a field's values as parameters.
    package static func parameterType(_ type: FieldType) -> PostgresType {
        switch type {
        case .string, .pointer, .file, .acl, .relation: .text
        case .number: .float8
        case .boolean: .bool
        case .date: .timestamptz
        case .object, .array, .bytes: .jsonb
        case .geoPoint: .point
        case .polygon: .polygon
        }
    }

    package static func joinTable(field: String, className: String) -> String { "_Join:\(field):\(className)" }

    /// Returns the name of a class's date index, which stays unique within PostgreSQL's limit of 63 bytes.
    static func dateIndex(of className: String) -> String {
        let name = "roost_created:\(className)"
        guard name.utf8.count > 63 else { return name }
        return "roost_created:\(className.prefix(32)):\(String(StableHash.of(className), radix: 16))"
    }

    /// Whether a field has a column. `_User.password` has none, because only its hash is stored.
    package static func hasColumn(_ field: String, of className: String, type: FieldType) -> Bool {
        guard columnType(type) != nil else { return false }
        // Only system classes have exceptions.
        guard className.utf8.first == UInt8(ascii: "_") else { return true }
        return !(className == "_User" && field == "password") && missingDefaults[className]?.contains(field) != true
    }

    /// Whether the objects of a class have ACLs, which are stored in two extra columns.
    static func hasPermissions(_ className: String) -> Bool { !classesWithoutACL.contains(className) }

    /// A column that the table of a class should have.
    package struct Column {
        package let name: String
        /// The SQL type.
        package let type: String

        /// The name and type, as in `CREATE TABLE` and `ADD COLUMN`.
        package var definition: String { "\(SQL.identifier(name)) \(type)" }
        /// Whether the column is the primary key.
        package var isKey: Bool { name == "objectId" }
    }

    /// Returns the columns that the table of a class should have.
    package static func columns(of schema: ClassSchema) -> [Column] {
        var columns: [Column] = []
        for (name, field) in schema.fields where hasColumn(name.text, of: schema.name, type: field.type) {
            if let type = columnType(field.type) { columns.append(Column(name: name.text, type: type)) }
        }
        if hasPermissions(schema.name) {
            columns += ["_rperm", "_wperm"].map { Column(name: $0, type: "text[]") }
        }
        if schema.name == "_User" {
            for (name, type) in SystemClass.internalUserFields.sorted(by: { $0.key < $1.key }) {
                columns.append(Column(name: name.text, type: columnType(type) ?? "text"))
            }
        }
        return columns
    }

    /// Returns the column definitions of a new table for `CREATE TABLE`.
    package static func columnDefinitions(of schema: ClassSchema) -> [String] {
        columns(of: schema).map { $0.isKey ? "\($0.definition) PRIMARY KEY" : $0.definition }
    }

    /// Returns the clauses of an `ALTER TABLE` that add missing columns.
    static func missingColumns(of schema: ClassSchema) -> String {
        columns(of: schema).filter { !$0.isKey }.map { "ADD COLUMN IF NOT EXISTS \($0.definition)" }
            .joined(separator: ", ")
    }

    /// Default columns that some system tables lack.
    private static let missingDefaults: [Name: Set<Name>] = [
        "_Hooks": ["objectId", "createdAt", "updatedAt"],
        "_GlobalConfig": ["createdAt", "updatedAt"],
        "_GraphQLConfig": ["createdAt", "updatedAt"],
    ]

    /// Returns the JSON of a class's row in `_SCHEMA`.
    package static func schemaRow(of schema: ClassSchema) -> JSONObject {
        var fields: JSONObject = [:]
        for (name, field) in schema.fields where field.type != .acl {
            if schema.name == "_User", name == "password" { continue }
            fields[name] = .object(field.json)
        }
        fields["_rperm"] = ["type": "Array", "contents": ["type": "String"]]
        fields["_wperm"] = ["type": "Array", "contents": ["type": "String"]]
        if schema.name == "_User" { fields["_hashed_password"] = ["type": "String"] }
        var row: JSONObject = ["className": .string(schema.name), "fields": .object(fields)]
        if let permissions = schema.permissions { row["classLevelPermissions"] = .object(permissions.source) }
        if !schema.indexes.isEmpty { row["indexes"] = .object(schema.indexes) }
        return row
    }

    /// Parses a row of `_SCHEMA`. parse-server writes a different format after it deletes a field, which is also
    /// supported.
    package static func schema(name: String, row: JSONValue) -> ClassSchema {
        var schema = ClassSchema(name: name)
        for (field, json) in row["fields"]?.objectValue ?? [:] where !field.hasPrefix("_") {
            // The built-in type of a default column takes precedence over the row.
            guard !SystemClass.isDefaultField(field.text, of: name), let value = Field(json: json), value.type != .acl
            else {
                if let value = Field(json: json), let known = schema.fields[field], known.type == value.type {
                    schema.fields[field] = value
                }
                continue
            }
            schema.fields[field] = value
        }
        schema.permissions = row["classLevelPermissions"]?.objectValue.map(ClassLevelPermissions.init(json:))
        schema.indexes = row["indexes"]?.objectValue ?? [:]
        return schema
    }
}

extension ClassSchema {
    /// The relation fields, each with its join table.
    package var relations: [(field: String, table: String)] {
        fields.compactMap { field, value in
            value.type.isRelation ? (field.text, TableLayout.joinTable(field: field.text, className: name)) : nil
        }
    }
}

extension PostgresResult {
    /// Returns a JSON value from a jsonb or text column, or nil for NULL, invalid text and too deeply nested values.
    package func json(_ row: Int, _ column: Int) -> JSONValue? {
        jsonb(row, column).flatMap { try? JSONValue(parsing: $0) }
    }
}
