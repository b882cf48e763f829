public import JSON
public import ParseModel
import ParseStorage
public import Postgres

/// The table of a class or a relation, as the target of an import.
public struct ImportTable: Sendable {
    public struct Column: Sendable {
        public let name: Name
        /// The Parse type of the values, or nil for `_rperm` and `_wperm`.
        public let type: FieldType?
        /// NULL as a parameter of the column's type.
        public let null: PostgresParameter

        init(_ name: Name, _ type: FieldType?) {
            self.name = name
            self.type = type
            null = .null(type.map(TableLayout.parameterType) ?? .textArray)
        }
    }

    /// The class name, or `_Join:field:Class` for a relation.
    public let name: String
    /// The columns that imported rows have.
    public let columns: [Column]
    /// The columns of the primary key, or empty if the table has none.
    public let key: [Name]

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

    /// Describes the table of a relation, named `_Join:field:Class`.
    public init(join name: String) {
        self.name = name
        columns = [Column("owningId", .string), Column("relatedId", .string)]
        key = ["owningId", "relatedId"]
    }

    /// The maximum length of names in PostgreSQL, in bytes. Longer ones are truncated.
    public static let longestName = 63

    var columnList: String { columns.map { SQL.identifier($0.name.text) }.joined(separator: ", ") }
}
