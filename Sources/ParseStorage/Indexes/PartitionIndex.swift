import Logging
import Postgres

/// The index by date of a table that is divided into parts, which PostgreSQL cannot build beside other work as a whole:
/// that of each part is built so, and then made a part of the whole one.
struct PartitionIndex {
    let className: String

    /// The table and its parts, each after the one that it is a part of.
    private static let tree = """
        SELECT p.relid::regclass::text, c.relname::text, p.parentrelid::regclass::text, p.isleaf
        FROM pg_partition_tree($1::text::regclass) p JOIN pg_class c ON c.oid = p.relid ORDER BY p.level, 1
        """

    /// Builds what is missing, and leaves what is there.
    ///
    /// - Throws: `PostgresError`; what was built until then stays, and is used the next time.
    func build(_ session: PostgresSession, _ logger: Logger) async throws {
        let rows = try await session.query(Self.tree, [.text(SQL.identifier(className))])
        var indexes: [String: String] = [:]
        for row in 0..<rows.rowCount {
            guard let table = rows.string(row, 0), let name = rows.string(row, 1) else { continue }
            let index = SQL.identifier(TableLayout.dateIndex(of: name))
            indexes[table] = index
            let columns = "(\"createdAt\", \"objectId\")"
            if rows.bool(row, 3) == true {
                try await dropBroken(index, session)
                _ = try await session.query("CREATE INDEX CONCURRENTLY IF NOT EXISTS \(index) ON \(table) \(columns)")
            } else {
                _ = try await session.query("CREATE INDEX IF NOT EXISTS \(index) ON ONLY \(table) \(columns)")
            }
        }
        for row in (0..<rows.rowCount).reversed() {
            guard let table = rows.string(row, 0), let index = indexes[table],
                let whole = rows.string(row, 2).flatMap({ indexes[$0] })
            else { continue }
            _ = try await session.query("ALTER INDEX \(whole) ATTACH PARTITION \(index)")
        }
        logger.info("an index by date was built", metadata: ["class": "\(className)"])
    }

    private func dropBroken(_ index: String, _ session: PostgresSession) async throws {
        let isBroken = try await session.query(
            "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)", [.text(index)]
        )
        guard isBroken.bool(0, 0) == true else { return }
        _ = try await session.query("DROP INDEX CONCURRENTLY IF EXISTS \(index)")
    }
}
