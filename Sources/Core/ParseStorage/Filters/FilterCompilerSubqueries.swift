import JSON
import ParseModel
import Postgres

/// Compiles inner queries into subselects of a single statement.
extension FilterCompiler {
    mutating func compile(_ query: Subquery, at path: FieldPath, _ outer: ClassSchema) throws(ParseError) -> String {
        guard !query.isClosed, let schema = schemas[query.className] else { return "FALSE" }
        let target = operand(path, outer)
        if case .absent = target { return "FALSE" }
        // The inner query refers to a class, even if the outer one refers to a document.
        let outerDocument = document
        document = nil
        defer { document = outerDocument }
        guard let key = query.key else { return try pointers(query, schema, target, outer) }
        let values: String
        switch operand(key, schema) {
        case .relation: return "FALSE"
        case .absent:
            guard let part = part(at: key, schema) else { return "FALSE" }
            if case .column(let outerColumn, .string) = target, let column = part.text {
                return "\(outerColumn) IN (\(try select(query, schema, column, notNull: column)))"
            }
            values = part.value
        case .column(let column, let type):
            if case .column(let outerColumn, let outerType) = target, type == outerType,
                TableLayout.columnType(type) != "jsonb", type != .geoPoint, type != .polygon
            {
                return "\(outerColumn) IN (\(try select(query, schema, column, notNull: column)))"
            }
            values = Self.jsonValue(column, type)
        case .json(let path): values = value(at: path)
        }
        let selected = try select(query, schema, "\(values) AS _value", notNull: values)
        // Arrays on either side match by their elements. The CTE uses the inner query only once; otherwise the
        // statement would double with each nesting level.
        let list =
            "WITH _values AS (\(selected)) SELECT _value FROM _values "
            + "UNION ALL SELECT jsonb_array_elements(_value) FROM _values WHERE jsonb_typeof(_value) = 'array'"
        switch target {
        case .absent, .relation: return "FALSE"
        case .column(let column, let type):
            return candidates(
                type == .array ? .list(column) : .value(Self.jsonValue(column, type)), inQueryOf: outer,
                "v IN (\(list))")
        case .json(let path):
            return candidates(.path(path), inQueryOf: outer, "v IN (\(list))")
        }
    }

    /// Returns a part such as `author.objectId` of a column that isn't stored as JSON, or nil for types without parts.
    /// `value` is the part as jsonb. `text` is the column itself if it contains exactly that part, as with a pointer's
    /// `objectId`.
    private mutating func part(at key: FieldPath, _ schema: ClassSchema) -> (value: String, text: String?)? {
        let field = SystemClass.field(queriedAs: key.root)
        guard !key.steps.isEmpty, let type = schema.type(of: field),
            TableLayout.hasColumn(field, of: schema.name, type: type)
        else { return nil }
        let column = SQL.identifier(field)
        switch type {
        case .pointer, .geoPoint, .file: break
        // createdAt and updatedAt are plain strings in JSON, without parts.
        case .date where SystemClass.commonFields[field] == nil: break
        default: return nil
        }
        let value = "(\(AggregateRow.value(column, type)) #> \(builder.bind(.textArray(key.steps))))"
        if case .pointer = type, key.steps == ["objectId"] { return (value, column) }
        return (value, nil)
    }

    private mutating func pointers(_ query: Subquery, _ schema: ClassSchema, _ target: Operand, _ outer: ClassSchema)
        throws(ParseError) -> String
    {
        guard hasObjectIds(schema) else { return "FALSE" }
        switch target {
        case .column(let column, .pointer(let className)):
            guard className == Name(query.className) else { return "FALSE" }
            return "\(column) IN (\(try select(query, schema, "\"objectId\"", notNull: nil)))"
        case .column(let column, let type) where TableLayout.columnType(type) == "jsonb":
            return try pointers(inside: type == .array ? .list(column) : .value(column), query, schema, outer)
        case .json(let path):
            return try pointers(inside: .path(path), query, schema, outer)
        case .relation(let table, let related):
            guard related == Name(query.className), schemas.hasJoinTable(table) else { return "FALSE" }
            return "\"objectId\" IN (SELECT \"owningId\" FROM \(SQL.identifier(table)) WHERE \"relatedId\" IN "
                + "(\(try select(query, schema, "\"objectId\"", notNull: nil))))"
        case .column, .absent:
            return "FALSE"
        }
    }

    private mutating func pointers(
        inside place: JSONPlace, _ query: Subquery, _ schema: ClassSchema, _ outer: ClassSchema
    ) throws(ParseError) -> String {
        let className = builder.bind(.text(query.className))
        let ids = try select(query, schema, "\"objectId\"", notNull: nil)
        return candidates(
            place, inQueryOf: outer,
            "v ->> '__type' = 'Pointer' AND v ->> 'className' = \(className) AND v ->> 'objectId' IN (\(ids))")
    }

    private mutating func select(_ query: Subquery, _ schema: ClassSchema, _ columns: String, notNull: String?)
        throws(ParseError) -> String
    {
        // The distance and rank of the inner query must not order the outer one.
        let outerDistance = distance
        let outerRank = rank
        defer {
            distance = outerDistance
            rank = outerRank
        }
        var conditions = [try compile(query.filter, schema)]
        if let readers = query.readers { conditions.append(permission("_rperm", readers)) }
        if let notNull { conditions.append("\(notNull) IS NOT NULL") }
        var text =
            "SELECT \(columns) FROM \(SQL.identifier(schema.name)) WHERE \(conditions.joined(separator: " AND "))"
        if query.limit != nil || query.skip > 0 {
            let order = try orderBy(query.order, schema)
            if !order.isEmpty { text += " ORDER BY \(order)" }
            if let limit = query.limit { text += " LIMIT \(builder.bind(.int(Int64(max(0, limit)))))" }
            if query.skip > 0 { text += " OFFSET \(builder.bind(.int(Int64(query.skip))))" }
        }
        return text
    }

    /// Returns a column's value as jsonb, with pointers and dates in Parse's JSON format.
    static func jsonValue(_ column: String, _ type: FieldType) -> String {
        switch type {
        case .pointer(let target):
            "jsonb_build_object('__type', 'Pointer', 'className', \(SQL.literal(target.text)), 'objectId', \(column))"
        case .date:
            "jsonb_build_object('__type', 'Date', 'iso', "
                + "to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'))"
        case .object, .array, .bytes: column
        default: "to_jsonb(\(column))"
        }
    }

    /// Returns the sort terms. Unknown fields, relations, GeoPoints and polygons are left out.
    ///
    /// - Throws: 105 for invalid field names and for parts of `authData`.
    package mutating func orderBy(_ keys: [SortKey], _ schema: ClassSchema) throws(ParseError) -> String {
        var terms: [String] = []
        for key in keys {
            let root = key.path.root
            if root == "score" || root == "$score", let rank {
                terms.append("\(rank) DESC")
                continue
            }
            if root == "$score" { continue }
            guard root == "_created_at" || root == "_updated_at" || Names.isIdentifier(root),
                !key.path.steps.contains("")
            else { throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(key.path.text).") }
            guard !(schema.name == "_User" && root == "authData" && !key.path.steps.isEmpty) else {
                throw ParseError(ParseError.invalidKeyName, "Cannot sort by \(key.path.text)")
            }
            let expression: String
            switch operand(key.path, schema) {
            case .column(let column, let type):
                if type == .geoPoint || type == .polygon { continue }
                expression = column
            case .json(let path): expression = value(at: path)
            case .relation, .absent: continue
            }
            terms.append("\(expression) \(key.isDescending ? "DESC" : "ASC")")
        }
        if let last = schema.lastSortKey, !terms.isEmpty { terms.append(last) }
        return terms.joined(separator: ", ")
    }
}
