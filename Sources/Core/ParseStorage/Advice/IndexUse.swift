import Postgres

/// An index that no query used for long.
public struct UnusedIndex: Sendable {
    /// Its name.
    public let name: String
    /// The class.
    public let table: String
    /// Its size.
    public let bytes: Int
    /// For how many days no query used it.
    public let days: Int
}

/// Which indexes no query used for a month, by looking now and then at what PostgreSQL counts.
package struct IndexUse: Sendable {
    let client: PostgresClient

    package init(client: PostgresClient) { self.client = client }

    /// Days without use by any query.
    private static let days = 30

    private static let definition = """
        CREATE TABLE IF NOT EXISTS "_roost_index_use" ("index" int8 PRIMARY KEY, "scans" int8 NOT NULL, \
        "since" timestamptz NOT NULL);
        """

    private static let classNames = "SELECT \"className\"::text FROM \"_SCHEMA\""

    /// Indexes that operators may drop: of classes, not unique, made by hand or advised. Tables without a byte are left
    /// out: on Citus they stand for tables of other servers, which count the use.
    ///
    /// Parameter 1 is the class names. They are queried separately, since a statement reads either tables of other
    /// servers or the catalogue of this one.
    private static let indexes = """
        pg_stat_user_indexes s JOIN pg_index x ON x.indexrelid = s.indexrelid \
        JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
        WHERE pg_table_is_visible(t.oid) AND NOT x.indisunique AND \(ClassIndexes.isUsers) \
        AND t.relname = ANY($1) AND pg_relation_size(t.oid) > 0 \
        AND (NOT starts_with(i.relname::text, 'roost_') OR starts_with(i.relname::text, '\(IndexCandidate.prefix)') \
        OR starts_with(i.relname::text, 'roost_index:') OR starts_with(i.relname::text, 'roost_doctor:'))
        """

    /// Looks at the counts; there is no table as long as there is no such index; throws `PostgresError`.
    package func note() async throws {
        let counts = try await client.query(
            "SELECT s.indexrelid::text, coalesce(s.idx_scan, 0)::text FROM \(Self.indexes) ORDER BY s.indexrelid",
            [.textArray(try await classes())], readOnly: true)
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

    private func classes() async throws -> [String] {
        let rows = try await client.query(Self.classNames, [], readOnly: true)
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }

    /// The indexes that no query used for a month, the largest first; throws `PostgresError`.
    package func unused() async throws -> [UnusedIndex] {
        guard try await client.hasTable("_roost_index_use") else { return [] }
        let idle = try await client.query(
            """
            SELECT "index"::text, "scans"::text, extract(epoch FROM now() - "since")::text
            FROM "_roost_index_use" WHERE "since" < now() - interval '\(Self.days) days'
            """, [], readOnly: true)
        func column(_ column: Int) -> PostgresParameter {
            .textArray((0..<idle.rowCount).map { idle.string($0, column) ?? "" })
        }
        let rows = try await client.query(
            """
            SELECT i.relname::text, t.relname::text, pg_relation_size(i.oid), u.seconds::float8
            FROM unnest($2::text[], $3::text[], $4::text[]) AS u (index, scans, seconds), \(Self.indexes)
            AND s.indexrelid::text = u.index AND coalesce(s.idx_scan, 0)::text = u.scans
            ORDER BY 3 DESC LIMIT 100
            """, [.textArray(try await classes()), column(0), column(1), column(2)], readOnly: true)
        return (0..<rows.rowCount).map { row in
            UnusedIndex(
                name: rows.string(row, 0) ?? "", table: rows.string(row, 1) ?? "", bytes: Int(rows.int(row, 2) ?? 0),
                days: Int((rows.double(row, 3) ?? 0) / 86_400))
        }
    }
}
