import JSON
import ParseStorage
import Postgres

/// Publishes the rows loaded for a class in one transaction.
extension ImportStorage {
    /// The error for a class that was empty when the import began and has objects now.
    public struct NotEmpty: Error, CustomStringConvertible {
        let name: String
        public var description: String {
            "\(name) received objects during the import. Import again with --merge or --replace \(name)"
        }
    }

    /// Moves the loaded rows into the class, in one transaction.
    ///
    /// - Parameter conflictLine: Returns the report, a line of JSON, of an object that can't be merged because of a
    ///   unique index. It receives the object's id.
    /// - Returns: The updated record.
    /// - Throws: ``NotEmpty``, `PostgresError`, or an error of `conflictLine`, after which the class is unchanged.
    public func publish(_ record: ImportRecord, _ table: ImportTable, conflictLine: (String) throws -> String)
        throws -> ImportRecord
    {
        var record = record
        let isPlain = try isPlain(record.name)
        try connection.transaction {
            try connection.query("SELECT pg_advisory_xact_lock(\(ProcessLock.schemaChange.key))")
            try addMissingColumns(record)
            let target = SQL.identifier(record.name)
            switch record.mode {
            case .merge:
                let lines = try merge(record, table).map(conflictLine)
                try addRejects(lines, to: record.number)
                record.rejects += Int64(lines.count)
                record.rows -= Int64(lines.count)
            case .fill, .replace:
                try connection.query("LOCK TABLE \(target) IN ACCESS EXCLUSIVE MODE")
                if record.mode == .fill, try !isEmpty(record.name) { throw NotEmpty(name: record.name) }
                if isPlain { try replaceTable(record) } else { try copy(record, table) }
            }
            try connection.query("DROP TABLE IF EXISTS \(SQL.identifier(record.staging))")
            record.state = .done
            try store(record)
        }
        // Without statistics, the first queries would be planned as for an empty table.
        try connection.query("ANALYZE \(SQL.identifier(record.name))")
        return record
    }

    /// Stores reports of duplicate rows or of indexes that couldn't be created, and subtracts `removedRows` from the
    /// record's row count. Does nothing without reports.
    ///
    /// - Returns: The updated record.
    /// - Throws: `PostgresError`.
    public func report(_ lines: [String], of record: ImportRecord, removedRows: Int = 0) throws -> ImportRecord {
        guard !lines.isEmpty else { return record }
        var record = record
        try connection.transaction {
            try addRejects(lines, to: record.number)
            record.rejects += Int64(lines.count)
            record.rows -= Int64(removedRows)
            try store(record)
        }
        return record
    }

    /// Whether the table has nothing that would be lost if it were dropped, such as grants, triggers or views.
    private func isPlain(_ table: String) throws -> Bool {
        try connection.query(
            """
            SELECT c.relacl IS NULL AND c.reloptions IS NULL AND NOT c.relrowsecurity
                AND NOT EXISTS (SELECT FROM pg_publication_rel p WHERE p.prrelid = c.oid)
                AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid)
                AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.refobjid = c.oid AND d.classid = 'pg_rewrite'::regclass)
            FROM pg_class c WHERE c.oid = to_regclass($1)
            """, [.text(SQL.identifier(table))]
        ).bool(0, 0) == true
    }

    private func addMissingColumns(_ record: ImportRecord) throws {
        let rows = try connection.query(
            """
            SELECT quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
            WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped AND NOT EXISTS (
                SELECT FROM pg_attribute b WHERE b.attrelid = to_regclass($2) AND b.attname = a.attname
                AND NOT b.attisdropped)
            """, [.text(SQL.identifier(record.name)), .text(SQL.identifier(record.staging))])
        for row in 0..<rows.rowCount {
            guard let column = rows.string(row, 0) else { continue }
            try connection.query("ALTER TABLE \(SQL.identifier(record.staging)) ADD COLUMN \(column)")
        }
    }

    private func replaceTable(_ record: ImportRecord) throws {
        let names = try indexNames(of: record.name)
        try connection.query("DROP TABLE \(SQL.identifier(record.name))")
        try connection.query(
            "ALTER TABLE \(SQL.identifier(record.staging)) RENAME TO \(SQL.identifier(record.name))")
        try renameIndexes(record, names)
    }

    private func copy(_ record: ImportRecord, _ table: ImportTable) throws {
        let columns = table.columnList
        try connection.query("DELETE FROM \(SQL.identifier(record.name))")
        try connection.query(
            "INSERT INTO \(SQL.identifier(record.name)) (\(columns)) "
                + "SELECT \(columns) FROM \(SQL.identifier(record.staging))")
    }

    /// Merges the staged rows, and returns the ids of objects that couldn't be merged because of a unique index.
    private func merge(_ record: ImportRecord, _ table: ImportTable) throws -> [String] {
        let (target, staging) = (SQL.identifier(record.name), SQL.identifier(record.staging))
        let columns = table.columnList
        var refused: [String] = []
        switch record.name {
        case "_GlobalConfig":
            // Merges the parameters of both configs. For a parameter that both have, the source's value wins.
            try connection.query(
                """
                UPDATE \(target) AS t SET "params" = COALESCE(t."params", '{}') || COALESCE(s."params", '{}'),
                    "masterKeyOnly" = COALESCE(t."masterKeyOnly", '{}') || COALESCE(s."masterKeyOnly", '{}')
                FROM \(staging) AS s WHERE s."objectId" = t."objectId"
                """)
        case "_Hooks":
            try connection.query(
                """
                INSERT INTO \(target) (\(columns)) SELECT \(columns) FROM \(staging) AS s WHERE NOT EXISTS (
                    SELECT FROM \(target) AS t WHERE t."functionName" IS NOT DISTINCT FROM s."functionName"
                    AND t."className" IS NOT DISTINCT FROM s."className"
                    AND t."triggerName" IS NOT DISTINCT FROM s."triggerName")
                """)
            return []
        default:
            let others = table.columns.map(\.name.text).filter { $0 != "objectId" }.map { SQL.identifier($0) }
            if table.columns.contains(where: { $0.name == "updatedAt" }), !others.isEmpty {
                let values = others.map { "s.\($0)" }.joined(separator: ", ")
                let update = """
                    UPDATE \(target) AS t SET (\(others.joined(separator: ", "))) = ROW(\(values))
                    FROM \(staging) AS s WHERE t."objectId" = s."objectId" AND s."updatedAt" > t."updatedAt"
                    """
                refused = try updateOlder(update, target, staging)
            }
        }
        try connection.query(
            "INSERT INTO \(target) (\(columns)) SELECT \(columns) FROM \(staging) ON CONFLICT DO NOTHING")
        guard table.key.count == 1 else { return [] }
        let rows = try connection.query(
            """
            SELECT s."objectId" FROM \(staging) AS s WHERE NOT EXISTS (
                SELECT FROM \(target) AS t WHERE t."objectId" = s."objectId")
            """)
        return refused + (0..<rows.rowCount).compactMap { rows.string($0, 0) }
    }

    /// Updates rows older than the source's: all at once, or one by one if one of them would violate a unique index.
    ///
    /// - Returns: The ids of rows left unchanged for that reason.
    private func updateOlder(_ update: String, _ target: String, _ staging: String) throws -> [String] {
        try connection.query("SAVEPOINT merged")
        do {
            try connection.query(update)
            return []
        } catch let error as PostgresError where error.sqlState == "23505" {
            try connection.query("ROLLBACK TO SAVEPOINT merged")
        }
        var refused: [String] = []
        var last = ""
        while true {
            let rows = try connection.query(
                """
                SELECT s."objectId" FROM \(staging) AS s JOIN \(target) AS t ON t."objectId" = s."objectId"
                WHERE s."updatedAt" > t."updatedAt" AND s."objectId" > $1 ORDER BY s."objectId" LIMIT 1000
                """, [.text(last)])
            guard rows.rowCount > 0 else { return refused }
            for id in (0..<rows.rowCount).compactMap({ rows.string($0, 0) }) {
                last = id
                try connection.query("SAVEPOINT merged")
                do {
                    try connection.query("\(update) AND s.\"objectId\" = $1", [.text(id)])
                    try connection.query("RELEASE SAVEPOINT merged")
                } catch let error as PostgresError where error.sqlState == "23505" {
                    try connection.query("ROLLBACK TO SAVEPOINT merged")
                    refused.append(id)
                }
            }
        }
    }
}
