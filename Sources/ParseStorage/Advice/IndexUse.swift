import Postgres

/// An index that no query used for long.
public struct UnusedIndex: Sendable {
    /// Its name.
    public let name: String
    /// The class.
    public let table: String
    /// What it takes.
    public let bytes: Int
    /// For how many days no query used it.
    public let days: Int
}

/// Which indexes no query used for a month, by looking now and then at what PostgreSQL counts.
struct IndexUse: Sendable {
    let client: PostgresClient

    /// For how long no query must have used one.
    private static let days = 30

    private static let definition = """
        CREATE TABLE IF NOT EXISTS "_roost_index_use" ("index" int8 PRIMARY KEY, "scans" int8 NOT NULL, \
        "since" timestamptz NOT NULL);
        """

    /// The indexes that an operator may drop: of classes, that make nothing unique, made by hand or advised.
    private static let indexes = """
        pg_stat_user_indexes s JOIN pg_index x ON x.indexrelid = s.indexrelid \
        JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
        WHERE pg_table_is_visible(t.oid) AND NOT x.indisunique AND \(ClassIndexes.isUsers) \
        AND t.relname IN (SELECT "className" FROM "_SCHEMA") \
        AND (NOT starts_with(i.relname::text, 'roost_') OR starts_with(i.relname::text, '\(IndexCandidate.prefix)') \
        OR starts_with(i.relname::text, 'roost_index:') OR starts_with(i.relname::text, 'roost_doctor:'))
        """

    /// Looks at the counts; there is no table as long as there is no such index.
    ///
    /// - Throws: `PostgresError`.
    func note() async throws {
        if !(try await client.hasTable("_roost_index_use")) {
            let anIndex = try await client.query(
                "SELECT EXISTS (SELECT FROM \(Self.indexes))", [], readOnly: true)
            guard anIndex.bool(0, 0) == true else { return }
            try await client.execute(script: ProcessLock.schemaChange.held(Self.definition))
        }
        _ = try await client.query(
            """
            INSERT INTO "_roost_index_use" AS u
            SELECT s.indexrelid::int8, coalesce(s.idx_scan, 0), now() FROM \(Self.indexes) ORDER BY 1
            ON CONFLICT ("index") DO UPDATE SET "scans" = excluded."scans", "since" = now()
            WHERE u."scans" <> excluded."scans"
            """, [])
        _ = try await client.query(
            """
            DELETE FROM "_roost_index_use" u
            WHERE NOT EXISTS (SELECT FROM pg_index x WHERE x.indexrelid = u."index"::oid)
            """, [])
    }

    /// The indexes that no query used for a month, the largest first.
    ///
    /// - Throws: `PostgresError`.
    func unused() async throws -> [UnusedIndex] {
        guard try await client.hasTable("_roost_index_use") else { return [] }
        let rows = try await client.query(
            """
            SELECT i.relname::text, t.relname::text, pg_relation_size(i.oid), extract(epoch FROM now() - u."since")::float8
            FROM "_roost_index_use" u, \(Self.indexes) AND s.indexrelid::int8 = u."index"
            AND coalesce(s.idx_scan, 0) = u."scans" AND u."since" < now() - interval '\(Self.days) days'
            ORDER BY 3 DESC LIMIT 100
            """, [], readOnly: true)
        return (0..<rows.rowCount).map { row in
            UnusedIndex(
                name: rows.string(row, 0) ?? "", table: rows.string(row, 1) ?? "", bytes: Int(rows.int(row, 2) ?? 0),
                days: Int((rows.double(row, 3) ?? 0) / 86_400))
        }
    }
}
