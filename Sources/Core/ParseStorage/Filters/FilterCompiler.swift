import JSON
import ParseModel
import Postgres

/// Compiles a ``Filter`` into an SQL condition with Parse's semantics: a missing field is null, an array matches by its
/// elements, and a value of another type doesn't match instead of failing.
///
/// Conditions on a single field follow MongoDB's semantics, which Parse clients expect.
package struct FilterCompiler {
    /// The target of a query key.
    enum Operand {
        case column(String, FieldType)
        /// A path inside a jsonb column.
        case json(JSONPath)
        /// A relation, which is stored in a join table.
        case relation(table: String, target: Name)
        /// A field that the class doesn't have or that has no column, or a path into a column that isn't jsonb.
        case absent
    }

    /// All classes that queries may refer to.
    let schemas: SchemaSnapshot
    /// The parameters of the compiled filters.
    package internal(set) var builder: SQLBuilder
    /// The jsonb document that keys refer to, or nil if they refer to the columns of the class.
    var document: String?
    /// The distance to sort by, if the filter contains a `near` condition.
    var distance: String?
    /// The full-text rank, if the filter contains a text search.
    var rank: String?
    private var memberships = 0

    package init(schemas: SchemaSnapshot, builder: SQLBuilder = SQLBuilder()) {
        self.schemas = schemas
        self.builder = builder
    }

    /// Compiles a filter. Throws `ParseError` for invalid operands.
    package mutating func compile(_ filter: Filter, _ schema: ClassSchema) throws(ParseError) -> String {
        switch filter {
        case .all(let parts): return try join(parts, schema, " AND ", empty: "TRUE")
        case .any(let parts): return try join(parts, schema, " OR ", empty: "FALSE")
        case .none(let parts): return "NOT COALESCE(\(try join(parts, schema, " OR ", empty: "FALSE")), FALSE)"
        case .field(let path, let constraint): return try compile(constraint, at: path, schema)
        case .related(let owner, let key): return related(owner, key, schema)
        }
    }

    /// Returns the condition that everyone or one of the principals may read or write a row.
    mutating func permission(_ column: String, _ principals: [Name]) -> String {
        "(\"\(column)\" IS NULL OR \"\(column)\" && \(builder.bind(principals: principals)))"
    }

    private mutating func join(_ parts: [Filter], _ schema: ClassSchema, _ separator: String, empty: String)
        throws(ParseError) -> String
    {
        let conditions = try parts.map { part throws(ParseError) in try compile(part, schema) }
        if conditions.isEmpty { return empty }
        return conditions.count == 1 ? conditions[0] : "(\(conditions.joined(separator: separator)))"
    }

    /// Whether the class has an `objectId` column. Only `_Hooks` has none.
    func hasObjectIds(_ schema: ClassSchema) -> Bool {
        TableLayout.hasColumn("objectId", of: schema.name, type: .string)
    }

    /// Resolves a query key in a class.
    func operand(_ path: FieldPath, _ schema: ClassSchema) -> Operand {
        let root = SystemClass.field(queriedAs: path.root)
        if let document { return .json(JSONPath(container: document, steps: [root] + path.steps, isList: false)) }
        guard
            let type = schema.type(of: root)
                ?? (schema.name == "_User" && path.steps.isEmpty ? SystemClass.internalUserFields[root] : nil)
        else { return .absent }
        let column = SQL.identifier(root)
        if case .relation(let target) = type {
            guard path.steps.isEmpty else { return .absent }
            return .relation(table: TableLayout.joinTable(field: root, className: schema.name), target: target)
        }
        guard TableLayout.hasColumn(root, of: schema.name, type: type) else { return .absent }
        if path.steps.isEmpty { return .column(column, type) }
        guard TableLayout.columnType(type) == "jsonb" else { return .absent }
        return .json(JSONPath(container: column, steps: path.steps, isList: type == .array))
    }

    private mutating func compile(_ constraint: Constraint, at path: FieldPath, _ schema: ClassSchema)
        throws(ParseError) -> String
    {
        switch constraint {
        case .inQuery(let query): membership(try compile(query, at: path, schema))
        case .notInQuery(let query): negate(membership(try compile(query, at: path, schema)))
        default:
            if document == nil, ["_rperm", "_wperm"].contains(path.text), TableLayout.hasPermissions(schema.name) {
                try principals(constraint, SQL.identifier(path.root))
            } else {
                try compile(constraint, on: operand(path, schema), path, schema)
            }
        }
    }

    private mutating func compile(
        _ constraint: Constraint, on operand: Operand, _ path: FieldPath, _ schema: ClassSchema
    ) throws(ParseError) -> String {
        switch constraint {
        case .notEqual(let value): return negate(try compile(.equal(value), on: operand, path, schema))
        case .notIn(let values): return negate(try compile(.isIn(values), on: operand, path, schema))
        case .containsAll(let values):
            guard !values.isEmpty else { return "FALSE" }
            let conditions = try values.map { value throws(ParseError) in
                try compile(.equal(value), on: operand, path, schema)
            }
            return "(\(conditions.joined(separator: " AND ")))"
        case .someElement(let constraints):
            let conditions = try constraints.map { constraint throws(ParseError) in
                try compile(constraint, on: .column(Self.element, .object), path, schema)
            }
            return elements(of: operand, conditions.joined(separator: " AND "))
        case .someObject(let filter):
            let outer = document
            document = Self.element
            let condition = try compile(filter, schema)
            document = outer
            return elements(of: operand, "jsonb_typeof(\(Self.element)) = 'object' AND \(condition)")
        default: break
        }
        switch operand {
        case .absent: return constraint.isMetByMissingField ? "TRUE" : "FALSE"
        case .relation(let table, let target): return relation(constraint, table, target)
        case .column(let column, let type):
            if case .array = type { return try json(constraint, .list(column)) }
            if TableLayout.columnType(type) == "jsonb" { return try json(constraint, .value(column)) }
            let condition = ColumnCondition(
                column: column, type: type, path: path, refusesMixedMembership: schemas.refusesMixedMembership)
            return try condition.sql(constraint, &builder, distance: &distance, rank: &rank)
        case .json(let path): return try json(constraint, .path(path))
        }
    }

    /// Negates a condition and treats NULL as false, so that a missing field counts as not equal.
    private func negate(_ condition: String) -> String {
        switch condition {
        case "TRUE": "FALSE"
        case "FALSE": "TRUE"
        default: "NOT COALESCE(\(condition), FALSE)"
        }
    }

    /// The alias of an array element in its condition. No field has this name.
    private static let element = "_roost_element"

    private mutating func elements(of operand: Operand, _ condition: String) -> String {
        let arrays: String
        switch operand {
        case .absent, .relation: return "FALSE"
        case .column(let column, let type):
            guard TableLayout.columnType(type) == "jsonb" else { return "FALSE" }
            arrays = "jsonb_array_elements(\(Self.array(column)))"
        case .json(let path): arrays = "\(leaves(path)), LATERAL jsonb_array_elements(\(Self.array("leaf")))"
        }
        return "EXISTS (SELECT 1 FROM \(arrays) AS e(\(Self.element)) WHERE \(condition))"
    }

    /// Compiles a condition on a permission list, which matches by its elements like any array.
    ///
    /// - Throws: 102 for constraints that don't apply to such a list.
    private mutating func principals(_ constraint: Constraint, _ column: String) throws(ParseError) -> String {
        func texts(_ values: [JSONValue]) -> [String] {
            values.compactMap(\.stringValue).filter { !$0.utf8.contains(0) }
        }
        switch constraint {
        case .notEqual(let value): return negate(try principals(.equal(value), column))
        case .notIn(let values): return negate(try principals(.isIn(values), column))
        case .containsAll(let values):
            guard texts(values).count == values.count, !values.isEmpty else { return "FALSE" }
            return "\(column) @> \(builder.bind(.textArray(texts(values))))"
        case .equal(.null), .exists(false): return "\(column) IS NULL"
        case .exists(true): return "\(column) IS NOT NULL"
        case .equal(.array(let list)):
            guard texts(list).count == list.count else { return "FALSE" }
            return "\(column) = \(builder.bind(.textArray(texts(list))))"
        case .equal(let value): return "\(column) && \(builder.bind(.textArray(texts([value]))))"
        case .isIn(let values):
            let isMember = "\(column) && \(builder.bind(.textArray(texts(values))))"
            return values.contains(.null) ? "(\(isMember) OR \(column) IS NULL)" : isMember
        case .containedBy(let values): return "\(column) <@ \(builder.bind(.textArray(texts(values))))"
        case .size(let size): return "cardinality(\(column)) = \(builder.bind(.int(Int64(size))))"
        default: throw ParseError(ParseError.invalidQuery, "\(column) doesn't support this constraint")
        }
    }

    private mutating func relation(_ constraint: Constraint, _ table: String, _ target: Name) -> String {
        let values: [JSONValue]
        switch constraint {
        case .equal(let value): values = [value]
        case .isIn(let list): values = list
        default: return "FALSE"
        }
        let ids = values.compactMap { Pointer(json: $0) }.filter { Name($0.className) == target }.map(\.objectId)
        guard !ids.isEmpty, schemas.hasJoinTable(table) else { return "FALSE" }
        return membership(
            "\"objectId\" IN (SELECT \"owningId\" FROM \(SQL.identifier(table)) "
                + "WHERE \"relatedId\" = ANY(\(builder.bind(.textArray(ids)))))")
    }

    private mutating func related(_ owner: Pointer, _ key: String, _ schema: ClassSchema) -> String {
        // A relation contains only ids of its target class.
        let target = schemas[owner.className]?.type(of: key)?.targetClass
        guard target == nil || target == Name(schema.name) else { return "FALSE" }
        let table = TableLayout.joinTable(field: key, className: owner.className)
        guard schemas.hasJoinTable(table) else { return "FALSE" }
        let id: String
        if let document {
            id = "\(document) ->> 'objectId'"
        } else if hasObjectIds(schema) {
            id = "\"objectId\""
        } else {
            return "FALSE"
        }
        return membership(
            "\(id) IN (SELECT \"relatedId\" FROM \(SQL.identifier(table)) "
                + "WHERE \"owningId\" = \(builder.bind(.text(owner.objectId))))")
    }

    /// The maximum number of `IN (SELECT …)` conditions that PostgreSQL may plan as joins. Planning time grows with the
    /// cube of the number of joins.
    private static let maxJoins = 8

    /// Wraps `IN (SELECT …)` conditions beyond ``maxJoins`` in COALESCE, so that PostgreSQL doesn't plan them as joins.
    private mutating func membership(_ condition: String) -> String {
        guard condition != "FALSE" else { return condition }
        memberships += 1
        return memberships <= Self.maxJoins ? condition : "COALESCE(\(condition), FALSE)"
    }
}
