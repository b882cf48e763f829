import JSON
import ParseModel
import Postgres

/// The plan for exporting a table: the fields of the class in REST format, and all other columns under their own names.
package struct ExportPlan: Sendable {
    let plan: ReadPlan
    /// The selected columns in order, each with the Parse type of its values. The type is nil if no Parse type fits the
    /// column, which is then exported as PostgreSQL's JSON.
    package let fields: [(column: StoredTable.Column, type: FieldType?)]

    /// The columns to select, as the list of a `SELECT`.
    package var selectList: String { plan.selectList }
    /// Whether the two permission lists are selected after the fields.
    package var hasACL: Bool { plan.hasACL }

    /// Plans the export of a class from its table.
    package init(_ schema: ClassSchema, _ table: StoredTable) {
        var columns: [ReadPlan.Column] = []
        var fields: [(StoredTable.Column, FieldType?)] = []
        var selected: [String] = []
        var constants: [[UInt8]] = []
        var known: Set<Name> = []
        func add(_ column: StoredTable.Column, _ encoding: ReadPlan.Encoding?, _ type: FieldType?) {
            known.insert(Name(column.name))
            columns.append(ReadPlan.Column(column.name, encoding ?? .json, target: type?.targetClass?.text))
            fields.append((column, encoding == nil ? nil : type))
            let name = SQL.identifier(column.name)
            selected.append(encoding == nil ? "to_jsonb(\(name))" : name)
        }
        for (name, field) in schema.fields {
            if case .relation(let target) = field.type {
                constants.append(ReadPlan.relation(name, target))
            } else if TableLayout.columnType(field.type) != nil, let column = table.column(name.text) {
                add(column, Self.encoding(column, of: field.type), field.type)
            }
        }
        let hasACL = ["_rperm", "_wperm"].allSatisfy { table.column($0)?.type == PostgresType.textArray.rawValue }
        for column in table.columns where !known.contains(Name(column.name)) && !column.isGenerated {
            if hasACL, column.name == "_rperm" || column.name == "_wperm" { continue }
            let type = Self.naturalType(column)
            add(column, type.flatMap { Self.encoding(column, of: $0) }, type)
        }
        self.fields = fields
        plan = ReadPlan(
            className: schema.name, columns: columns, expressions: selected, constants: constants, hasACL: hasACL)
    }

    private static func encoding(_ column: StoredTable.Column, of type: FieldType) -> ReadPlan.Encoding? {
        let expected = TableLayout.parameterType(type)
        let isVariable = expected == .text && column.type == PostgresType.varchar.rawValue
        guard column.type == expected.rawValue || isVariable else { return nil }
        return type == .number ? .exactNumber : ReadPlan.encoding(column.name, type)
    }

    /// Returns the Parse type for a column without a field, or nil if there is no matching type.
    static func naturalType(_ column: StoredTable.Column) -> FieldType? {
        switch PostgresType(rawValue: column.type) {
        case .text, .varchar: .string
        case .bool: .boolean
        case .float8: .number
        case .timestamptz: .date
        case .jsonb: .object
        case .point: .geoPoint
        case .polygon: .polygon
        default: nil
        }
    }
}
