import JSON
import ParseModel
import Postgres

/// The tables of a database with their columns, as PostgreSQL's catalogue lists them.
package struct StoredTable: Sendable {
    package struct Column: Sendable {
        let name: String
        /// The object id of its type.
        let type: UInt32
        /// Its type in PostgreSQL's words.
        let typeName: String
        /// Whether its value is computed from others.
        let isGenerated: Bool

        package init(name: String, type: UInt32, typeName: String, isGenerated: Bool) {
            self.name = name
            self.type = type
            self.typeName = typeName
            self.isGenerated = isGenerated
        }
    }

    let name: String
    /// How many rows the statistics say it has; nil when nothing is known.
    let estimatedRows: Int?
    /// The bytes that it takes with its indexes.
    var size: Int
    /// Whether it holds a part of the rows of another table.
    var isPartition = false
    /// Whether its rows are held by parts.
    var isDivided = false
    package var columns: [Column] = []

    package init(
        name: String, estimatedRows: Int?, size: Int, isPartition: Bool = false, isDivided: Bool = false,
        columns: [Column] = []
    ) {
        self.name = name
        self.estimatedRows = estimatedRows
        self.size = size
        self.isPartition = isPartition
        self.isDivided = isDivided
        self.columns = columns
    }

    func column(_ name: String) -> Column? { columns.first { $0.name.hasSameBytes(as: name) } }

    /// An expression for about how many bytes a row takes, for which nothing that lies outside of the row is read; nil
    /// where no column can be large.
    var rowSize: String? {
        let lengths = columns.filter { !$0.isGenerated }.compactMap { column -> String? in
            let name = SQL.identifier(column.name)
            return switch PostgresType(rawValue: column.type) {
            case .bool, .int2, .int4, .int8, .float4, .float8, .timestamptz, .point, .name: nil
            case .text, .varchar: "COALESCE(octet_length(\(name)), 0)"
            default: "COALESCE(pg_column_size(\(name)), 0)"
            }
        }
        return lengths.isEmpty ? nil : "(\(lengths.joined(separator: "::int8 + ")))::int8"
    }

    /// The tables that a name without a schema reaches, but for those of extensions.
    static let listing = Statement(listing(size: "pg_total_relation_size(c.oid)"))

    /// The table of a name alone, without its size, for which tables that another keeps locked would be waited for.
    static func listing(of name: String) -> Statement {
        Statement(listing(size: "0::int8", condition: "AND c.relname = $1"), [.text(name)])
    }

    private static func listing(size: String, condition: String = "") -> String {
        """
        SELECT c.relname::text, c.reltuples::float8, \(size), a.attname::text, a.atttypid::int8, \
        format_type(a.atttypid, a.atttypmod), a.attgenerated <> '', c.relispartition, c.relkind = 'p' \
        FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
        WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND c.relnamespace <> 'pg_catalog'::regnamespace \
        AND c.relpersistence <> 't' \(condition) \
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass \
        AND d.deptype = 'e') ORDER BY c.relname COLLATE "C", a.attnum
        """
    }

    static func read(_ rows: PostgresResult) -> [Name: StoredTable] {
        var tables: [Name: StoredTable] = [:]
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0) else { continue }
            let estimate = rows.double(row, 1).flatMap { $0 >= 0 ? Int(exactly: $0.rounded()) : nil }
            var table =
                tables[Name(name)]
                ?? StoredTable(
                    name: name, estimatedRows: estimate, size: Int(rows.int(row, 2) ?? 0),
                    isPartition: rows.bool(row, 7) ?? false, isDivided: rows.bool(row, 8) ?? false)
            if let column = rows.string(row, 3) {
                table.columns.append(
                    Column(
                        name: column, type: UInt32(truncatingIfNeeded: rows.int(row, 4) ?? 0),
                        typeName: rows.string(row, 5) ?? "", isGenerated: rows.bool(row, 6) ?? false))
            }
            tables[Name(name)] = table
        }
        return tables
    }
}
