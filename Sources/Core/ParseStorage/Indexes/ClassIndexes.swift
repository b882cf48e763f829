public import JSON
import ParseModel
import Postgres

/// Reads and changes the PostgreSQL indexes of one class.
package struct ClassIndexes {
    let schema: ClassSchema
    let session: PostgresSession

    /// The size in bytes above which a table gets its indexes outside the transaction of the schema change.
    private static let largeTable: Int64 = 4 * 1024 * 1024

    private var tables: [String] { [schema.name] + schema.relations.map(\.table) }

    /// Whether the class has a table above 4 MB, on which an index build would block writers for long.
    func areOnLargeTables() async throws -> Bool {
        let rows = try await session.query(
            "SELECT coalesce(max(\(schema.sizeFunction)(oid)), 0) FROM pg_class "
                + "WHERE relname = ANY($1) AND pg_table_is_visible(oid)", [.textArray(tables)])
        return (rows.int(0, 0) ?? 0) > Self.largeTable
    }

    func make(_ name: String, _ fields: JSONObject) async throws {
        for (number, part) in try await IndexDefinition(fields, of: schema).parts(in: session).enumerated() {
            let free = try await freeName(IndexName(className: schema.name, name: name), part: number)
            let partitioning = part.isUnique ? try await partitioning(of: part.table) : nil
            do {
                _ = try await session.query(part.statement(name: free))
            } catch let error as PostgresError where partitioning != nil && error.sqlState == "0A000" {
                throw ParseError(
                    ParseError.invalidQuery,
                    "Index \(name) can't be unique: the table of \(schema.name) is partitioned "
                        + "(\(partitioning ?? "")). Add the partition columns to the index.")
            }
        }
    }

    private func partitioning(of table: String) async throws -> String? {
        let rows = try await session.query(
            "SELECT pg_get_partkeydef(oid) FROM pg_class WHERE oid = to_regclass($1) AND relkind = 'p'",
            [.text(SQL.identifier(table))])
        return rows.rowCount > 0 ? rows.string(0, 0) : nil
    }

    /// Renames an index from its build name to its final name. Throws `PostgresError` 42P01 if it doesn't exist.
    func adopt(_ name: String, _ fields: JSONObject) async throws {
        let names = IndexName(className: schema.name, name: name)
        for number in try await IndexDefinition(fields, of: schema).parts(in: session).indices {
            let name = try await freeName(names, part: number)
            _ = try await session.query(
                "ALTER INDEX \(SQL.identifier(names.building(part: number))) RENAME TO \(SQL.identifier(name))")
        }
    }

    /// Drops all PostgreSQL indexes that belong to one index of the class.
    func drop(_ name: String) async throws {
        let names = IndexName(className: schema.name, name: name)
        let rows = try await session.query(
            "SELECT i.relname::text FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid "
                + "JOIN pg_class t ON t.oid = x.indrelid "
                + "WHERE t.relname = ANY($1) AND pg_table_is_visible(t.oid) "
                + "AND (i.relname = $2 OR starts_with(i.relname::text, $3)) AND \(Self.isUsers)",
            [.textArray(tables), .text(names.own ?? ""), .text(names.prefix)])
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0) else { continue }
            _ = try await session.query("DROP INDEX IF EXISTS \(SQL.identifier(name))")
        }
    }

    private func freeName(_ names: IndexName, part: Int) async throws -> String {
        let made = names.made(part: part)
        if part == 0, let own = names.own {
            let rows = try await session.query(
                "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                    + "WHERE c.relname = $1 AND n.nspname = current_schema()", [.text(own)])
            if rows.rowCount == 0 { return own }
        }
        // Only Roost uses such names, so an existing index is a leftover.
        _ = try await session.query("DROP INDEX IF EXISTS \(SQL.identifier(made))")
        return made
    }

    /// An SQL condition: index `i` (`x`) of table `t` doesn't belong to a constraint and isn't one that
    /// parse-server creates at startup.
    static let isUsers = """
        NOT x.indisprimary AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = x.indexrelid) \
        AND NOT (starts_with(t.relname::text, '_') AND i.relname ~ \
        '^(_(User|Role|Idempotency)_unique_.*|case_insensitive_(username|email)|_email_verify_token|_perishable_token|ttl)$')
        """

    /// The query for valid indexes whose names don't begin with `roost_` and that no server creates at startup: class,
    /// name, field, and the field's direction or kind. Parameter 1 is the list of classes.
    package static let handmade = """
        SELECT t.relname::text, i.relname::text, \
        coalesce(a.attname::text, substring(k.text from '^to_tsvector[(]''[a-z]+''::regconfig, "?([A-Za-z0-9_]+)"?[)]$'), k.text), \
        CASE WHEN m.amname = 'gist' THEN '"2dsphere"' WHEN k.text LIKE 'to_tsvector(%' THEN '"text"' \
        WHEN m.amname = 'btree' AND x.indoption[n - 1] & 1 = 1 THEN '-1' ELSE '1' END::jsonb \
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
        JOIN pg_am m ON m.oid = i.relam CROSS JOIN generate_series(1, x.indnkeyatts) n \
        CROSS JOIN LATERAL (SELECT pg_get_indexdef(x.indexrelid, n, true) AS text) k \
        LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[n - 1] AND a.attnum > 0 \
        WHERE t.relname = ANY($1) AND pg_table_is_visible(t.oid) AND x.indisvalid \
        AND NOT starts_with(i.relname::text, 'roost_') AND \(isUsers) ORDER BY i.relname, n
        """

    /// Returns the indexes of a result of ``handmade``, by class and name, in the format of the schemas API.
    package static func read(_ rows: PostgresResult) throws -> [Name: JSONObject] {
        var classes: [Name: JSONObject] = [:]
        for row in 0..<rows.rowCount {
            guard let table = rows.string(row, 0), let name = rows.string(row, 1), let field = rows.string(row, 2),
                let kind = rows.jsonb(row, 3)
            else { continue }
            var fields = classes[table]?[name]?.objectValue ?? [:]
            fields[field] = try JSONValue(parsing: kind)
            classes[Name(table), default: [:]][name] = .object(fields)
        }
        return classes
    }
}

extension SchemaCatalog {
    /// Returns the indexes whose names neither Roost nor parse-server chose, by class and name, in the format of the
    /// schemas API.
    public func handmadeIndexes(of classNames: [String]) async throws -> [Name: JSONObject] {
        var attempts = 1
        while true {
            do {
                return try ClassIndexes.read(
                    try await client.query(ClassIndexes.handmade, [.textArray(classNames)], readOnly: true))
            } catch let error as PostgresError where error.sqlState == "XX000" && attempts < 5 {
                // PostgreSQL's catalog functions fail with an internal error if their table or index was dropped since
                // the statement began. The next attempt no longer sees it.
                attempts += 1
            }
        }
    }
}
