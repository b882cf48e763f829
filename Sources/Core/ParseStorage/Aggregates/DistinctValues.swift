import ParseModel
import Postgres

/// Statements that list the distinct values of a field as sorted jsonb. Array elements count separately.
package struct DistinctValues {
    /// The alternative of jumping along an index from one value to the next, which takes time per value instead of per
    /// row.
    package struct Jump {
        /// The query that returns a row if a suitable index exists and the statistics show few values of the field.
        package let question: Statement
        package let statement: Statement
    }

    /// The statement that lists the values by reading all rows.
    package let statement: Statement
    /// The alternative that jumps from value to value along an index, or nil if no index can help.
    package private(set) var jump: Jump?

    /// Jumps are used only for fewer distinct values than this.
    static let maxJumps = 1000.0

    /// Returns nil if the class has no such field, or if values of its type can't be listed. Throws `ParseError` for
    /// invalid conditions.
    package init?(of field: String, _ schema: ClassSchema, _ filter: Filter, _ snapshot: SchemaSnapshot)
        throws(ParseError)
    {
        var compiler = FilterCompiler(schemas: snapshot)
        let root = field == "_id" ? "objectId" : field
        let table = SQL.identifier(schema.name)
        switch compiler.operand(FieldPath(root), schema) {
        case .absent, .relation, .column(_, .polygon), .column(_, .geoPoint): return nil
        case .column(let column, let type) where TableLayout.columnType(type) != "jsonb":
            let condition = try compiler.compile(filter, schema)
            let values = Self.value(column, type)
            // DISTINCT applies to the column, so that only the remaining values are converted to JSON. The outer query
            // merges values that become equal, such as dates that differ in microseconds.
            statement = Statement(
                Self.list(
                    "SELECT \(values) AS v FROM (SELECT DISTINCT \(column) FROM \(table) "
                        + "WHERE (\(condition)) AND \(column) IS NOT NULL) AS a"), compiler.builder.parameters)
            if filter == .everything { jump = Self.jump(column, values, SystemClass.field(queriedAs: root), table) }
        case .column(let column, let type):
            statement = try Self.elements(
                FilterCompiler.jsonValue(column, type), " AND \(column) IS NOT NULL", table, schema, filter, &compiler)
        case .json(let path):
            statement = try Self.elements(compiler.value(at: path), "", table, schema, filter, &compiler)
        }
    }

    private static func value(_ column: String, _ type: FieldType) -> String {
        switch type {
        case .date: "to_jsonb(to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'))"
        case .number: AggregateRow.value(column, type)
        default: FilterCompiler.jsonValue(column, type)
        }
    }

    private static func elements(
        _ values: String, _ presence: String, _ table: String, _ schema: ClassSchema, _ filter: Filter,
        _ compiler: inout FilterCompiler
    ) throws(ParseError) -> Statement {
        let condition = try compiler.compile(filter, schema)
        let source = "SELECT \(values) AS v FROM \(table) WHERE (\(condition))\(presence)"
        return Statement(
            list(
                "SELECT v FROM (\(source)) AS a WHERE jsonb_typeof(v) <> 'array' "
                    + "UNION ALL SELECT jsonb_array_elements(v) FROM (\(source)) AS b WHERE jsonb_typeof(v) = 'array'"),
            compiler.builder.parameters)
    }

    private static func list(_ values: String) -> String {
        "SELECT DISTINCT v FROM (\(values)) AS c WHERE v IS NOT NULL AND v <> 'null' ORDER BY v"
    }

    private static func jump(_ column: String, _ values: String, _ name: String, _ table: String) -> Jump {
        let question = """
            SELECT 1 FROM pg_class t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = $2 AND NOT a.attisdropped \
            JOIN pg_index x ON x.indrelid = t.oid AND x.indkey[0] = a.attnum \
            AND x.indcollation[0] = a.attcollation JOIN pg_opclass o ON o.oid = x.indclass[0] \
            JOIN pg_am m ON m.oid = o.opcmethod JOIN pg_stats s ON s.tablename = t.relname AND s.attname = a.attname \
            AND s.schemaname = (SELECT n.nspname FROM pg_namespace n WHERE n.oid = t.relnamespace) \
            WHERE t.oid = to_regclass($1) AND x.indisvalid AND x.indpred IS NULL AND m.amname = 'btree' AND o.opcdefault \
            AND s.n_distinct > 0 AND s.n_distinct < \(Int(maxJumps)) LIMIT 1
            """
        let walk = """
            WITH RECURSIVE jump AS ((SELECT \(column) FROM \(table) WHERE \(column) IS NOT NULL ORDER BY \(column) LIMIT 1) \
            UNION ALL SELECT (SELECT t.\(column) FROM \(table) AS t WHERE t.\(column) > jump.\(column) \
            ORDER BY t.\(column) LIMIT 1) FROM jump WHERE jump.\(column) IS NOT NULL)
            """
        return Jump(
            question: Statement(question, [.text(table), .text(name)]),
            statement: Statement(
                walk + " " + list("SELECT \(values) AS v FROM jump WHERE \(column) IS NOT NULL")))
    }
}
