import JSON
import ParseModel
import Postgres

/// The `$where` of an index, which selects the objects in it.
///
/// PostgreSQL stores the condition with the index, so it can't depend on the time, other rows or parameters.
struct IndexCondition {
    /// The condition with its values as literals.
    let sql: String

    /// Parses a condition of comparisons with constants and `$exists`, combined by AND.
    ///
    /// - Throws: 102 for other conditions and unknown fields, 105 for invalid field names.
    init(_ value: JSONValue, of schema: ClassSchema) throws(ParseError) {
        guard let object = value.objectValue, !object.isEmpty else {
            throw IndexOptions.refusal("$where must be an object with a condition")
        }
        for key in object.keys where key.hasPrefix("$") {
            throw IndexOptions.refusal("$where can't contain \(key)")
        }
        let filter = try FilterParser(isMaster: false, now: 0).parse(object)
        var parts = [filter]
        if case .all(let several) = filter { parts = several }
        for part in parts { try Self.check(part, schema) }
        var compiler = FilterCompiler(
            schemas: SchemaSnapshot(classes: [Name(schema.name): schema]), builder: SQLBuilder(writesValues: true))
        sql = try compiler.compile(filter, schema)
    }

    private static func check(_ leaf: Filter, _ schema: ClassSchema) throws(ParseError) {
        guard case .field(let path, let constraint) = leaf, path.steps.isEmpty else {
            throw IndexOptions.refusal("$where can only compare fields of the class")
        }
        let field = path.root
        guard let type = schema.type(of: field), TableLayout.hasColumn(field, of: schema.name, type: type) else {
            throw ParseError(ParseError.invalidQuery, "Field \(field) does not exist, cannot add index.")
        }
        guard isConstant(constraint, type) else {
            throw IndexOptions.refusal(
                "$where can only compare \(field) with a constant of its type, or check whether it exists")
        }
    }

    private static func isConstant(_ constraint: Constraint, _ type: FieldType) -> Bool {
        switch constraint {
        case .exists: true
        case .equal(.null): TableLayout.columnType(type) != "jsonb"
        case .equal(let value), .compare(_, let value): isConstant(value, type)
        default: false
        }
    }

    private static func isConstant(_ value: JSONValue, _ type: FieldType) -> Bool {
        switch (type, ColumnCondition.parameter(value, type)) {
        case (.string, .text), (.number, .double), (.boolean, .bool): true
        // The years 1 to 9999, which PostgreSQL can read from the literals written here.
        case (.date, .timestamp(let milliseconds)): (-62_135_596_800_000..<253_402_300_800_000).contains(milliseconds)
        default: false
        }
    }
}
