import JSON
import ParseModel
import Postgres

/// A table and its columns, from PostgreSQL's catalog.
package struct StoredTable: Sendable {
    package struct Column: Sendable {
        package let name: String
        /// The OID of the column type.
        package let type: UInt32
        /// The type name, as PostgreSQL formats it.
        package let typeName: String
        /// Whether PostgreSQL computes the values.
        package let isGenerated: Bool

        package init(name: String, type: UInt32, typeName: String, isGenerated: Bool) {
            self.name = name
            self.type = type
            self.typeName = typeName
            self.isGenerated = isGenerated
        }
    }

    package let name: String
    /// The row count from PostgreSQL's statistics, or nil if it isn't known.
    package let estimatedRows: Int?
    /// The size in bytes, including indexes.
    package var size: Int
    /// Whether the table is a partition of another one.
    package var isPartition = false
    /// Whether the table has partitions.
    var isDivided = false
    package var columns: [Column] = []

    package init(name: String, estimatedRows: Int?, size: Int) {
        self.name = name
        self.estimatedRows = estimatedRows
        self.size = size
    }

    /// Returns a column by name, or nil if the table has none of that name.
    package func column(_ name: String) -> Column? { columns.first { $0.name.hasSameBytes(as: name) } }

    /// An SQL expression for the approximate size of a row in bytes, or nil if no column can be large. It doesn't read
    /// out-of-line values.
    package var rowSize: String? {
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

    /// The query for all tables on the search path except those of extensions.
    package static let listing = Statement(listing(size: "pg_total_relation_size(c.oid)"))

    /// Returns the query for a single table without its size, because computing sizes waits for locked tables.
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

    /// Returns the tables of a result of ``listing``.
    package static func read(_ rows: PostgresResult) -> [Name: StoredTable] {
        var tables: [Name: StoredTable] = [:]
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0) else { continue }
            let estimate = rows.double(row, 1).flatMap { $0 >= 0 ? Int(exactly: $0.rounded()) : nil }
            var table =
                tables[Name(name)]
                ?? StoredTable(name: name, estimatedRows: estimate, size: Int(rows.int(row, 2) ?? 0))
            table.isPartition = rows.bool(row, 7) ?? false
            table.isDivided = rows.bool(row, 8) ?? false
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
