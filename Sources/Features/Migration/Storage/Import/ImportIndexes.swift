import Encoding
import Postgres

/// Recreates the indexes of a class on the staging table.
extension ImportStorage {
    /// An index of a class: the constraint definition of a primary key, or nil for other indexes, and the part of the
    /// index definition that follows the table name.
    private typealias Index = (name: String, isUnique: Bool, primaryKey: String?, definition: String)

    /// Deletes rows whose key an earlier row already has, unless the staging table already has a primary key.
    ///
    /// - Returns: The keys of the deleted rows, with `:` between their columns.
    /// - Throws: `PostgresError`.
    public func removeDuplicates(_ record: ImportRecord, _ table: ImportTable) throws -> [String] {
        guard !table.key.isEmpty, try !hasPrimaryKey(record) else { return [] }
        let key = table.key.map { SQL.identifier($0.text) }.joined(separator: ", ")
        let staging = SQL.identifier(record.staging)
        // The ctid order of the staging table is the load order.
        let rows = try connection.query(
            """
            DELETE FROM \(staging) WHERE ctid IN (
                SELECT place FROM (
                    SELECT ctid AS place, row_number() OVER (PARTITION BY \(key) ORDER BY ctid) AS turn FROM \(staging)
                ) AS numbered WHERE turn > 1)
            RETURNING concat_ws(':', \(key))
            """)
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }

    /// Creates the class's indexes after its rows are loaded, which is faster than maintaining them during the load.
    ///
    /// - Returns: The indexes that PostgreSQL refused to build, with its reasons.
    /// - Throws: `PostgresError`, with code 23505 if two rows have the same primary key.
    public func makeIndexes(_ record: ImportRecord) throws -> [(name: String, reason: String)] {
        var refused: [(name: String, reason: String)] = []
        for index in try indexes(of: record.name) {
            if let primaryKey = index.primaryKey {
                guard try !hasPrimaryKey(record) else { continue }
                try connection.query(
                    "ALTER TABLE \(SQL.identifier(record.staging)) ADD CONSTRAINT \(indexName(record, index.name)) "
                        + primaryKey)
                continue
            }
            // Merged rows go into the existing table, which has its indexes already.
            if record.mode == .merge { continue }
            do {
                try connection.query(
                    "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX IF NOT EXISTS \(indexName(record, index.name)) "
                        + "ON \(SQL.identifier(record.staging))\(index.definition)")
            } catch let error as PostgresError where error.kind == .server && !error.sqlState.hasPrefix("57") {
                // Rows matter more than an index: the server runs without it, as parse-server does.
                let why = [error.message, error.detail].compactMap { $0 }.joined(separator: ": ")
                refused.append((index.name, why))
            }
        }
        return refused
    }

    /// Renames the new indexes to the class's index names, which must be free.
    func renameIndexes(_ record: ImportRecord, _ names: [String]) throws {
        for name in names {
            try connection.query(
                "ALTER INDEX IF EXISTS \(indexName(record, name)) RENAME TO \(SQL.identifier(name))")
        }
    }

    func indexNames(of table: String) throws -> [String] { try indexes(of: table).map(\.name) }

    private func indexName(_ record: ImportRecord, _ name: String) -> String {
        SQL.identifier("roost-import:\(record.number):\(String(StableHash.of(name), radix: 16))")
    }

    private func hasPrimaryKey(_ record: ImportRecord) throws -> Bool {
        try connection.query(
            "SELECT EXISTS (SELECT FROM pg_index WHERE indrelid = to_regclass($1) AND indisprimary)",
            [.text(SQL.identifier(record.staging))]
        ).bool(0, 0) == true
    }

    private func indexes(of table: String) throws -> [Index] {
        let rows = try connection.query(
            """
            SELECT name, is_unique, primary_key, substr(definition, length(beginning) + 1),
                starts_with(definition, beginning)
            FROM (
                SELECT i.relname::text AS name, x.indisunique AS is_unique,
                    CASE WHEN x.indisprimary THEN pg_get_constraintdef(c.oid) END AS primary_key,
                    pg_get_indexdef(i.oid) AS definition,
                    format('CREATE %sINDEX %I ON %I.%I', CASE WHEN x.indisunique THEN 'UNIQUE ' ELSE '' END,
                        i.relname, n.nspname, t.relname) AS beginning
                FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
                JOIN pg_namespace n ON n.oid = t.relnamespace
                LEFT JOIN pg_constraint c ON c.conindid = i.oid AND c.contype = 'p'
                WHERE x.indrelid = to_regclass($1) AND x.indisvalid
            ) AS found ORDER BY primary_key IS NULL, name COLLATE "C"
            """, [.text(SQL.identifier(table))])
        return (0..<rows.rowCount).compactMap { row in
            guard let name = rows.string(row, 0), rows.bool(row, 4) == true else { return nil }
            return (name, rows.bool(row, 1) ?? false, rows.string(row, 2), rows.string(row, 3) ?? "")
        }
    }
}
