import JSON
import ParseModel
import Postgres

extension DatabaseFacts {
    private static let shardSizes = """
        SELECT c.relname::text, column_to_column_name(p.logicalrelid, p.partkey), count(*)::int8, \
        max(s.shard_size)::int8, sum(s.shard_size)::int8 \
        FROM citus_shards s JOIN pg_class c ON c.oid = s.table_name JOIN pg_dist_partition p ON p.logicalrelid = c.oid \
        WHERE p.partmethod = 'h' AND pg_table_is_visible(c.oid) GROUP BY c.relname, p.logicalrelid, p.partkey ORDER BY 1
        """

    /// The size of the largest shard in bytes, below which skew is ignored.
    private static let notableShard = 1 << 20

    /// Replaces local sizes of distributed tables with the total over all servers, and adds warnings for tables whose
    /// largest shard has at least 1 MB and 1.8 times its share of the data. Does nothing without Citus.
    ///
    /// - Throws: `PostgresError`.
    mutating func readShards(_ session: PostgresSession) async throws {
        let known = try await session.query("SELECT to_regclass('pg_catalog.citus_shards') IS NOT NULL")
        guard known.bool(0, 0) == true else { return }
        let rows = try await session.query(Self.shardSizes)
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0), let field = rows.string(row, 1) else { continue }
            let shards = Int(rows.int(row, 2) ?? 1)
            let (largest, size) = (Int(rows.int(row, 3) ?? 0), Int(rows.int(row, 4) ?? 0))
            tables[name]?.size = size
            guard shards > 1, largest >= Self.notableShard, largest * shards * 5 >= size * 9 else { continue }
            skew.append(
                Finding(
                    .skew, .warning, name,
                    "one of \(shards) shards holds \(largest * 100 / max(1, size))% of the data, probably because "
                        + "most objects share a few values of \(field). Distribute by a field with more values"))
        }
    }
}
