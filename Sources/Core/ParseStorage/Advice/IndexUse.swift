import Postgres

/// An index that no query has used for a month.
public struct UnusedIndex: Sendable {
    public let name: String
    /// The class name.
    public let table: String
    public let bytes: Int
    /// The whole days in which no use was noticed.
    public let days: Int
}

/// Finds unused indexes by comparing PostgreSQL's index scan counts over time.
package struct IndexUse: Sendable {
    let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    /// Days without use after which an index counts as unused.
    private static let days = 30

    private static let definition = """
        CREATE TABLE IF NOT EXISTS "_roost_index_use" ("index" int8 PRIMARY KEY, "scans" int8 NOT NULL, \
        "since" timestamptz NOT NULL);
        """

    /// Scan counts of the indexes that operators may drop: non-unique indexes of classes that servers don't need. Empty
    /// tables are left out: with Citus they stand for tables on other servers, which have the counts.
    ///
    /// Parameter 1 is the class names, from a separate query, because with Citus a statement reads either distributed
    /// tables or this server's catalog.
    private static let counts = """
        SELECT s.indexrelid::text, coalesce(s.idx_scan, 0)::text, i.relname::text, t.relname::text, \
        pg_relation_size(i.oid) FROM pg_stat_user_indexes s JOIN pg_index x ON x.indexrelid = s.indexrelid \
        JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
        WHERE pg_table_is_visible(t.oid) AND NOT x.indisunique AND \(ClassIndexes.isUsers) \
        AND t.relname = ANY($1) AND pg_relation_size(t.oid) > 0 \
        AND (NOT starts_with(i.relname::text, 'roost_') OR starts_with(i.relname::text, '\(IndexCandidate.prefix)') \
        OR starts_with(i.relname::text, 'roost_index:') OR starts_with(i.relname::text, 'roost_doctor:')) \
        ORDER BY s.indexrelid
        """

    private func counts() async throws -> PostgresResult {
        let classes = try await client.query("SELECT \"className\"::text FROM \"_SCHEMA\"", [], readOnly: true)
        let names = (0..<classes.rowCount).compactMap { classes.string($0, 0) }
        return try await client.query(Self.counts, [.textArray(names)], readOnly: true)
    }

    /// Records the current scan counts. Creates the table only if there are indexes to watch. Throws `PostgresError`.
    package func record() async throws {
        let counts = try await counts()
        let isThere = try await client.hasTable("_roost_index_use")
        guard isThere || counts.rowCount > 0 else { return }
        if !isThere { try await ProcessLock.schemaChange.make(Self.definition, client) }
        let indexes = PostgresParameter.textArray((0..<counts.rowCount).compactMap { counts.string($0, 0) })
        let scans = PostgresParameter.textArray((0..<counts.rowCount).compactMap { counts.string($0, 1) })
        _ = try await client.query(
            """
            INSERT INTO "_roost_index_use" AS u
            SELECT i::int8, n::int8, now() FROM unnest($1::text[], $2::text[]) AS counted (i, n)
            ON CONFLICT ("index") DO UPDATE SET "scans" = excluded."scans", "since" = excluded."since"
            WHERE u."scans" <> excluded."scans"
            """, [indexes, scans])
        _ = try await client.query("DELETE FROM \"_roost_index_use\" WHERE \"index\"::text <> ALL($1)", [indexes])
    }

    /// Returns up to 100 indexes without use for a month, largest first. Throws `PostgresError`.
    package func unused() async throws -> [UnusedIndex] {
        guard try await client.hasTable("_roost_index_use") else { return [] }
        let idle = try await client.query(
            """
            SELECT "index" || ' ' || "scans", (extract(epoch FROM now() - "since") / 86400)::float8
            FROM "_roost_index_use" WHERE "since" < now() - interval '\(Self.days) days'
            """, [], readOnly: true)
        var days: [String: Int] = [:]
        for row in 0..<idle.rowCount { days[idle.string(row, 0) ?? ""] = Int(idle.double(row, 1) ?? 0) }
        let counts = try await counts()
        let unused = (0..<counts.rowCount).compactMap { row -> UnusedIndex? in
            guard let index = counts.string(row, 0), let scans = counts.string(row, 1),
                let days = days["\(index) \(scans)"]
            else { return nil }
            return UnusedIndex(
                name: counts.string(row, 2) ?? "", table: counts.string(row, 3) ?? "",
                bytes: Int(counts.int(row, 4) ?? 0), days: days)
        }
        return Array(unused.sorted { $0.bytes > $1.bytes }.prefix(100))
    }
}
