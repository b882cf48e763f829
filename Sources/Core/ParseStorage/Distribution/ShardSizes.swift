import Postgres

/// The sizes of distributed tables.
package enum ShardSizes {
    private static let statement = """
        SELECT c.relname::text, column_to_column_name(p.logicalrelid, p.partkey), count(*)::int8, \
        max(s.shard_size)::int8, sum(s.shard_size)::int8 \
        FROM citus_shards s JOIN pg_class c ON c.oid = s.table_name JOIN pg_dist_partition p ON p.logicalrelid = c.oid \
        WHERE p.partmethod = 'h' AND pg_table_is_visible(c.oid) GROUP BY c.relname, p.logicalrelid, p.partkey ORDER BY 1
        """

    /// The size of the largest shard in bytes, below which skew is ignored.
    private static let notableShard = 1 << 20

    /// Returns the size of each distributed table over all servers, with a warning if its largest shard has at least
    /// 1 MB and 1.8 times its share of the data. Returns nothing without Citus.
    ///
    /// - Throws: `PostgresError`.
    package static func read(_ session: PostgresSession) async throws
        -> [(table: String, size: Int, warning: String?)]
    {
        let known = try await session.query("SELECT to_regclass('pg_catalog.citus_shards') IS NOT NULL")
        guard known.bool(0, 0) == true else { return [] }
        let rows = try await session.query(statement)
        return (0..<rows.rowCount).compactMap { row in
            guard let name = rows.string(row, 0), let field = rows.string(row, 1) else { return nil }
            let shards = Int(rows.int(row, 2) ?? 1)
            let (largest, size) = (Int(rows.int(row, 3) ?? 0), Int(rows.int(row, 4) ?? 0))
            let isSkewed = shards > 1 && largest >= notableShard && largest * shards * 5 >= size * 9
            let warning =
                "one of \(shards) shards holds \(largest * 100 / max(1, size))% of the data, probably because "
                + "most objects share a few values of \(field). Distribute by a field with more values"
            return (name, size, isSkewed ? warning : nil)
        }
    }
}
