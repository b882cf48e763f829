import Encoding
import Postgres

/// The indexes of a class, made once more on the table that is to take its place.
extension ImportStorage {
    private struct Index {
        let name: String
        let isUnique: Bool
        /// The definition of a primary key; nil for any other index.
        let primaryKey: String?
        /// What stands behind the table's name in the statement that makes it.
        let definition: String
    }

    /// Takes objects out whose id another one before it has.
    ///
    /// - Returns: Their ids.
    /// - Throws: `PostgresError`.
    public func removeDuplicates(_ record: ImportRecord, _ table: ImportTable) throws -> [String] {
        guard !table.key.isEmpty, try !hasPrimaryKey(record) else { return [] }
        let key = table.key.map { SQL.identifier($0.text) }.joined(separator: ", ")
        let staging = SQL.identifier(record.staging)
        // Rows lie in the order in which they were loaded.
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

    /// Makes all indexes that the class has. Rows are loaded by then: it is quicker than keeping them while rows come.
    ///
    /// - Returns: Notes on unique indexes that the rows do not allow, by the index's name.
    /// - Throws: `PostgresError`, 23505 for a primary key that two rows share.
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
            // Rows that are brought beside others go into the table that is there, with its indexes.
            if record.mode == .merge { continue }
            do {
                try connection.query(
                    "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX IF NOT EXISTS \(indexName(record, index.name)) "
                        + "ON \(SQL.identifier(record.staging))\(index.definition)")
            } catch let error as PostgresError where error.kind == .server && !error.sqlState.hasPrefix("57") {
                // Rows matter more than an index on them: the server runs without, as parse-server does.
                let why = [error.message, error.detail].compactMap { $0 }.joined(separator: ": ")
                refused.append((index.name, why))
            }
        }
        return refused
    }

    /// Gives the indexes the names that those of the class have, which must be gone.
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
            return Index(
                name: name, isUnique: rows.bool(row, 1) ?? false, primaryKey: rows.string(row, 2),
                definition: rows.string(row, 3) ?? "")
        }
    }
}
