import JSON
import ParseModel
import Postgres

/// Finds distributed tables with most of their data in a single shard.
struct DistributionDiagnosis {
    private struct Table {
        let name: String
        let field: String
        let parts: Int
        /// The size of the largest shard in bytes, including indexes.
        let largest: Int
        /// The size of all shards in bytes.
        let size: Int
    }

    private let tables: [Table]

    private static let sizes = """
        SELECT c.relname::text, column_to_column_name(p.logicalrelid, p.partkey), count(*)::int8, \
        max(s.shard_size)::int8, sum(s.shard_size)::int8 \
        FROM citus_shards s JOIN pg_class c ON c.oid = s.table_name JOIN pg_dist_partition p ON p.logicalrelid = c.oid \
        WHERE p.partmethod = 'h' AND pg_table_is_visible(c.oid) GROUP BY c.relname, p.logicalrelid, p.partkey ORDER BY 1
        """

    /// Reads the shard sizes. Without Citus the result is empty.
    ///
    /// - Throws: `PostgresError`.
    init(_ session: PostgresSession) async throws {
        let known = try await session.query("SELECT to_regclass('pg_catalog.citus_shards') IS NOT NULL")
        guard known.bool(0, 0) == true else {
            tables = []
            return
        }
        let rows = try await session.query(Self.sizes)
        tables = (0..<rows.rowCount).compactMap { row in
            guard let name = rows.string(row, 0), let field = rows.string(row, 1) else { return nil }
            return Table(
                name: name, field: field, parts: Int(rows.int(row, 2) ?? 1), largest: Int(rows.int(row, 3) ?? 0),
                size: Int(rows.int(row, 4) ?? 0))
        }
    }

    /// Replaces local table sizes by the total over all servers.
    func correct(_ stored: inout [Name: StoredTable]) {
        for table in tables { stored[table.name]?.size = table.size }
    }

    /// The size of the largest shard in bytes, below which skew is ignored.
    private static let notable = 1 << 20

    /// Warnings for tables whose largest shard has at least 1 MB and 1.8 times its share of the data.
    var findings: [Finding] {
        tables.filter {
            $0.parts > 1 && $0.largest >= Self.notable && $0.largest * $0.parts * 5 >= $0.size * 9
        }.map { table in
            Finding(
                .skew, .warning, table.name,
                "one of \(table.parts) shards holds \(table.largest * 100 / max(1, table.size))% of the data, probably because "
                    + "most objects share a few values of \(table.field). Distribute by a field with more values")
        }
    }
}
