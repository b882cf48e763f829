public import JSON
public import ParseModel
public import Postgres

/// A table as an import fills it: of a class, or of a relation.
public struct ImportTable: Sendable {
    /// One column.
    public struct Column: Sendable {
        /// Its name.
        public let name: Name
        /// What a field of the class holds; nil for lists of principals.
        public let type: FieldType?
        /// NULL, as a value of the column's type.
        public let null: PostgresParameter

        init(_ name: Name, _ type: FieldType?) {
            self.name = name
            self.type = type
            null = .null(type.map(TableLayout.parameterType) ?? .textArray)
        }
    }

    /// The table's name, which is that of the class or `_Join:field:Class`.
    public let name: String
    /// The columns that rows bring.
    public let columns: [Column]
    /// What no two rows may share; empty where a table has no such thing.
    public let key: [Name]

    /// The table of a class.
    public init(_ schema: ClassSchema) {
        name = schema.name
        var columns: [Column] = []
        for (field, value) in schema.fields
        where TableLayout.hasColumn(field.text, of: schema.name, type: value.type) {
            columns.append(Column(field, value.type))
        }
        if !TableLayout.classesWithoutACL.contains(schema.name) {
            columns.append(Column("_rperm", nil))
            columns.append(Column("_wperm", nil))
        }
        if schema.name == "_User" {
            for (field, type) in SystemClass.internalUserFields { columns.append(Column(field, type)) }
        }
        self.columns = columns
        key = columns.contains { $0.name == "objectId" } ? ["objectId"] : []
    }

    /// The table of a relation, by its name `_Join:field:Class`.
    public init(join name: String) {
        self.name = name
        columns = [Column("owningId", .string), Column("relatedId", .string)]
        key = ["owningId", "relatedId"]
    }

    /// The longest name that PostgreSQL distinguishes, in bytes.
    public static let longestName = 63

    /// The name of a relation's table.
    public static func join(field: String, className: String) -> String {
        TableLayout.joinTable(field: field, className: className)
    }

    var columnList: String { columns.map { SQL.identifier($0.name.text) }.joined(separator: ", ") }
}
