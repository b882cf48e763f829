import JSON
import ParseModel
import Postgres

/// What PostgreSQL's catalogue and `_SCHEMA` say of a database; findings are judged from it without asking further.
struct DatabaseFacts: Sendable {
    /// An index as it is.
    struct Index: Sendable {
        let name: String
        let table: String
        let isValid: Bool
        /// The columns, or the expressions, that it begins with.
        let keys: [String]
        /// Whether it holds all rows.
        let isWhole: Bool
    }

    /// The rows of `_SCHEMA`; nil when there is no such table.
    var rows: [(name: String, json: JSONValue)]?
    var tables: [Name: StoredTable] = [:]
    var indexes: [Index] = []
    var functions: Set<Name> = []
    /// Settings by name, as `SHOW` has them, but sizes in bytes.
    var settings: [String: String] = [:]
    /// Tables for which autovacuum is off.
    var unvacuumed: [String] = []
    /// The bytes of the whole database.
    var size = 0
    /// The version of PostgreSQL, 150004 for 15.4.
    var version = 0

    /// The classes as the server would read them.
    var classes: [ClassSchema] {
        (rows ?? []).map { TableLayout.schema(name: $0.name, row: $0.json) }
    }

    /// The settings that are looked at.
    static let settingNames = [
        "fsync", "full_page_writes", "autovacuum", "track_counts", "synchronous_commit", "server_encoding",
        "zero_damaged_pages", "ignore_checksum_failure", "max_connections",
    ]

    /// Reads all of it.
    ///
    /// - Throws: `PostgresError`.
    static func read(_ client: PostgresClient) async throws -> DatabaseFacts {
        try await client.transaction(isolation: .repeatableRead, purpose: .administration) { session in
            _ = try await session.query("SET TRANSACTION READ ONLY")
            return try await read(session)
        }
    }

    private static func read(_ session: PostgresSession) async throws -> DatabaseFacts {
        var facts = DatabaseFacts()
        let results = try await session.group([
            StoredTable.listing, Statement(indexes), Statement(functions),
            Statement(settings, [.textArray(settingNames)]),
            Statement(unvacuumed),
            Statement(
                "SELECT pg_database_size(current_database()), current_setting('server_version_num')::int8, "
                    + "to_regclass('\"_SCHEMA\"') IS NOT NULL"),
        ])
        guard results.count == 6 else { throw PostgresError(.server, "the catalogue gave no answer") }
        facts.tables = StoredTable.read(results[0])
        facts.indexes = (0..<results[1].rowCount).map { row in
            Index(
                name: results[1].string(row, 0) ?? "", table: results[1].string(row, 1) ?? "",
                isValid: results[1].bool(row, 2) ?? true, keys: results[1].textArray(row, 3) ?? [],
                isWhole: results[1].bool(row, 4) ?? true)
        }
        facts.functions = Set((0..<results[2].rowCount).compactMap { results[2].string($0, 0) }.map { Name($0) })
        for row in 0..<results[3].rowCount {
            if let name = results[3].string(row, 0) { facts.settings[name] = results[3].string(row, 1) }
        }
        facts.unvacuumed = (0..<results[4].rowCount).compactMap { results[4].string($0, 0) }
        facts.size = Int(results[5].int(0, 0) ?? 0)
        facts.version = Int(results[5].int(0, 1) ?? 0)
        guard results[5].bool(0, 2) == true else { return facts }
        let rows = try await session.query(
            "SELECT \"className\"::text, \"schema\" FROM \"_SCHEMA\" ORDER BY \"className\" COLLATE \"C\"")
        facts.rows = (0..<rows.rowCount).compactMap { row in
            guard let name = rows.string(row, 0), let bytes = rows.jsonb(row, 1),
                let json = try? JSONValue(parsing: bytes)
            else { return nil }
            return (name, json)
        }
        return facts
    }

    private static let indexes = """
        SELECT i.relname::text, t.relname::text, x.indisvalid, \
        ARRAY(SELECT coalesce(a.attname::text, pg_get_indexdef(x.indexrelid, n, true)) \
        FROM generate_series(1, x.indnkeyatts) n LEFT JOIN pg_attribute a \
        ON a.attrelid = t.oid AND a.attnum = x.indkey[n - 1] AND a.attnum > 0 ORDER BY n), x.indpred IS NULL \
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
        WHERE pg_table_is_visible(t.oid) AND t.relnamespace <> 'pg_catalog'::regnamespace ORDER BY 2, 1
        """

    private static let functions = """
        SELECT DISTINCT proname::text FROM pg_proc \
        WHERE pg_function_is_visible(oid) AND pronamespace <> 'pg_catalog'::regnamespace
        """

    private static let settings = """
        SELECT name, setting FROM pg_settings WHERE name = ANY($1) \
        UNION ALL SELECT name, (setting::int8 * 8192)::text FROM pg_settings WHERE name = 'shared_buffers'
        """

    private static let unvacuumed = """
        SELECT relname::text FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) \
        AND EXISTS (SELECT FROM unnest(reloptions) o WHERE o IN ('autovacuum_enabled=false', 'autovacuum_enabled=off')) \
        ORDER BY 1
        """
}
