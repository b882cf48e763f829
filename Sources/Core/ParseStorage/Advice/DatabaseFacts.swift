import JSON
import ParseModel
import Postgres

/// The contents of `_SCHEMA` and PostgreSQL's catalog, from which most findings are computed without further queries.
package struct DatabaseFacts: Sendable {
    package struct Index: Sendable {
        package let name: String
        /// The name of the indexed table.
        package let table: String
        /// Whether PostgreSQL may use the index. False after a failed build.
        package let isValid: Bool
        /// The key columns or expressions.
        package let keys: [String]
        /// Whether the index covers all rows, unlike a partial index.
        package let isWhole: Bool
        /// Whether the index is a B-tree, which supports equality and ranges.
        var isSorted = true
        /// The positions of the keys that serve prefix searches in every collation.
        var patternKeys: Set<Int> = []

        package init(
            name: String, table: String, isValid: Bool, keys: [String], isWhole: Bool, isSorted: Bool = true,
            patternKeys: Set<Int> = []
        ) {
            self.name = name
            self.table = table
            self.isValid = isValid
            self.keys = keys
            self.isWhole = isWhole
            self.isSorted = isSorted
            self.patternKeys = patternKeys
        }
    }

    /// The rows of `_SCHEMA`, or nil if the table doesn't exist.
    package var rows: [(name: String, json: JSONValue)]?
    package var tables: [Name: StoredTable] = [:]
    package var indexes: [Index] = []
    /// The number of distinct values of each column, by table. A negative number is the share of the rows, as in
    /// `pg_stats.n_distinct`.
    var values: [Name: [Name: Double]] = [:]
    /// Whether the database sorts text by bytes.
    var hasPlainOrder = false
    /// The names of the functions outside PostgreSQL's own schema.
    package var functions: Set<Name> = []
    /// Tables whose data is unevenly distributed over their shards, each with a warning.
    package var skew: [(table: String, warning: String)] = []
    /// PostgreSQL settings by name. `shared_buffers` is in bytes.
    package var settings: [String: String] = [:]
    /// Tables with autovacuum turned off.
    package var unvacuumed: [String] = []
    /// The size of the database in bytes.
    package var size = 0
    /// The version of PostgreSQL, for example 150004 for 15.4.
    package var version = 0

    package init() {}

    /// The classes, as the server would read them.
    package var classes: [ClassSchema] {
        (rows ?? []).map { TableLayout.schema(name: $0.name, row: $0.json) }
    }

    private static let settingNames = [
        "fsync", "full_page_writes", "autovacuum", "track_counts", "synchronous_commit", "server_encoding",
        "zero_damaged_pages", "ignore_checksum_failure", "max_connections",
    ]

    /// Reads the facts in one read-only transaction. Throws `PostgresError`.
    package static func read(_ client: PostgresClient) async throws -> DatabaseFacts {
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
                    + "to_regclass('\"_SCHEMA\"') IS NOT NULL, "
                    + "datcollate IN ('C', 'POSIX') FROM pg_database WHERE datname = current_database()"),
            Statement(values),
        ])
        guard results.count == 7 else { throw PostgresError(.server, "PostgreSQL's catalog returned no result") }
        facts.tables = StoredTable.read(results[0])
        for shards in try await ShardSizes.read(session) {
            facts.tables[shards.table]?.size = shards.size
            if let warning = shards.warning { facts.skew.append((shards.table, warning)) }
        }
        facts.indexes = (0..<results[1].rowCount).map { row in
            Index(
                name: results[1].string(row, 0) ?? "", table: results[1].string(row, 1) ?? "",
                isValid: results[1].bool(row, 2) ?? true, keys: results[1].textArray(row, 3) ?? [],
                isWhole: results[1].bool(row, 4) ?? true, isSorted: results[1].bool(row, 5) ?? true,
                patternKeys: Set((results[1].textArray(row, 6) ?? []).compactMap { Int($0) }))
        }
        for row in 0..<results[6].rowCount {
            guard let table = results[6].string(row, 0), let column = results[6].string(row, 1) else { continue }
            facts.values[Name(table), default: [:]][Name(column)] = results[6].double(row, 2)
        }
        facts.hasPlainOrder = results[5].bool(0, 3) ?? false
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
            guard let name = rows.string(row, 0), let json = rows.json(row, 1) else { return nil }
            return (name, json)
        }
        return facts
    }

    private static let indexes = """
        SELECT i.relname::text, t.relname::text, x.indisvalid, \
        ARRAY(SELECT coalesce(a.attname::text, pg_get_indexdef(x.indexrelid, n, true)) \
        FROM generate_series(1, x.indnkeyatts) n LEFT JOIN pg_attribute a \
        ON a.attrelid = t.oid AND a.attnum = x.indkey[n - 1] AND a.attnum > 0 ORDER BY n), x.indpred IS NULL, \
        m.amname = 'btree', ARRAY(SELECT (n - 1)::text FROM generate_series(1, x.indnkeyatts) n \
        JOIN pg_opclass o ON o.oid = x.indclass[n - 1] WHERE o.opcname ~ '_pattern_ops$') \
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
        JOIN pg_am m ON m.oid = i.relam WHERE pg_table_is_visible(t.oid) AND t.relnamespace <> 'pg_catalog'::regnamespace ORDER BY 2, 1
        """

    private static let values = """
        SELECT tablename::text, attname::text, n_distinct::float8 FROM pg_stats \
        WHERE schemaname = ANY(current_schemas(false))
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
