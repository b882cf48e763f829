public import Logging
import ParseStorage
import Postgres

/// The target database of an import: its progress records and staging tables, over a separate connection.
///
/// Its calls block. It must be used from one thread only.
public final class ImportStorage {
    let connection: BulkConnection

    /// Connects to the database. Throws `PostgresError`.
    public init(connectionString: String, logger: Logger) throws {
        connection = try BulkConnection(connectionString: connectionString, logger: logger)
        // A crash of the database loses rows and their progress record together, so commits needn't wait for the disk.
        // `finish` waits.
        try connection.query("SET synchronous_commit = off")
        try connection.query("SET client_min_messages = warning")
    }

    /// Creates the progress tables and locks out other imports until the connection closes.
    ///
    /// - Returns: False if another import is running.
    /// - Throws: `PostgresError`.
    public func begin() throws -> Bool {
        let lock = try connection.query("SELECT pg_try_advisory_lock(\(ProcessLock.dataImport.key))")
        guard lock.bool(0, 0) == true else { return false }
        try connection.query(
            """
            CREATE TABLE IF NOT EXISTS "roost-import" (
                "number" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "source" text NOT NULL, "class" text NOT NULL,
                "mode" text NOT NULL, "state" text NOT NULL, "documents" bigint NOT NULL DEFAULT 0,
                "rows" bigint NOT NULL DEFAULT 0, "rejects" bigint NOT NULL DEFAULT 0, UNIQUE ("source", "class"))
            """)
        try connection.query(
            """
            CREATE TABLE IF NOT EXISTS "roost-import-rejects" (
                "place" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "number" bigint NOT NULL, "line" text NOT NULL)
            """)
        return true
    }

    /// Returns the records of a source, one per class, oldest first. Throws `PostgresError`.
    public func records(of source: String) throws -> [ImportRecord] {
        let rows = try connection.query(
            """
            SELECT "number", "class", "mode", "state", "documents", "rows", "rejects" FROM "roost-import"
            WHERE "source" = $1 ORDER BY "number"
            """, [.text(source)])
        return (0..<rows.rowCount).compactMap { row in
            guard let number = rows.int(row, 0), let name = rows.string(row, 1),
                let mode = rows.string(row, 2).flatMap(ImportRecord.Mode.init(rawValue:)),
                let state = rows.string(row, 3).flatMap(ImportRecord.State.init(rawValue:))
            else { return nil }
            return ImportRecord(
                number: number, name: name, mode: mode, state: state, documents: rows.int(row, 4) ?? 0,
                rows: rows.int(row, 5) ?? 0, rejects: rows.int(row, 6) ?? 0)
        }
    }

    /// Deletes unfinished imports of other sources, including their staging tables. Throws `PostgresError`.
    public func discardOthers(than source: String) throws {
        let rows = try connection.query(
            "SELECT \"number\" FROM \"roost-import\" WHERE \"source\" <> $1 AND \"state\" <> 'done'", [.text(source)])
        for row in 0..<rows.rowCount { if let number = rows.int(row, 0) { try discard(number) } }
    }

    /// Deletes a record, including its reports of rejected values and its staging table. Throws `PostgresError`.
    public func discard(_ number: Int64) throws {
        try connection.transaction {
            try connection.query("DROP TABLE IF EXISTS \(SQL.identifier("roost-import:\(number)"))")
            try connection.query("DELETE FROM \"roost-import-rejects\" WHERE \"number\" = $1", [.int(number)])
            try connection.query("DELETE FROM \"roost-import\" WHERE \"number\" = $1", [.int(number)])
        }
    }

    /// Whether a table has no rows or doesn't exist. Throws `PostgresError`.
    public func isEmpty(_ table: String) throws -> Bool {
        let name = SQL.identifier(table)
        let known = try connection.query("SELECT to_regclass($1) IS NOT NULL", [.text(name)])
        guard known.bool(0, 0) == true else { return true }
        return try connection.query("SELECT NOT EXISTS (SELECT FROM \(name))").bool(0, 0) == true
    }

    /// Whether the staging table has all columns that the import needs now. Throws `PostgresError`.
    public func fits(_ record: ImportRecord, _ table: ImportTable) throws -> Bool {
        let rows = try connection.query(
            """
            SELECT count(*) FROM pg_attribute
            WHERE attrelid = to_regclass($1) AND attname = ANY($2) AND attnum > 0 AND NOT attisdropped
            """, [.text(SQL.identifier(record.staging)), .textArray(table.columns.map(\.name.text))])
        return rows.int(0, 0) == Int64(table.columns.count)
    }

    /// Starts the import of a class: stores its record and creates its staging table. Throws `PostgresError`.
    public func begin(_ table: ImportTable, source: String, mode: ImportRecord.Mode) throws -> ImportRecord {
        try connection.transaction {
            let rows = try connection.query(
                """
                INSERT INTO "roost-import" ("source", "class", "mode", "state") VALUES ($1, $2, $3, 'loading')
                RETURNING "number"
                """, [.text(source), .text(table.name), .text(mode.rawValue)])
            let record = ImportRecord(
                number: rows.int(0, 0) ?? 0, name: table.name, mode: mode, state: .loading, documents: 0, rows: 0,
                rejects: 0)
            try connection.query(
                "CREATE TABLE \(SQL.identifier(record.staging)) (LIKE \(SQL.identifier(table.name)))")
            return record
        }
    }

    /// Calls `body` with each report of a rejected value of a source, fetched in pages of 500.
    ///
    /// - Throws: `PostgresError`, or an error of `body`.
    public func eachReject(of source: String, _ body: (String) throws -> Void) throws {
        var last: (number: Int64, place: Int64) = (0, 0)
        while true {
            let rows = try connection.query(
                """
                SELECT r."number", r."place", r."line" FROM "roost-import-rejects" r
                JOIN "roost-import" i ON i."number" = r."number" AND i."source" = $1
                WHERE (r."number", r."place") > ($2, $3) ORDER BY r."number", r."place" LIMIT 500
                """, [.text(source), .int(last.number), .int(last.place)])
            guard rows.rowCount > 0 else { return }
            for row in 0..<rows.rowCount {
                if let line = rows.string(row, 2) { try body(line) }
                last = (rows.int(row, 0) ?? last.number, rows.int(row, 1) ?? last.place)
            }
        }
    }

    /// The class name of the record that marks an import as complete with all classes and files. Real class names have
    /// no colon.
    private static let whole = "roost:whole"

    /// Whether all classes and files of a source were imported and the reports of rejected values written to a file.
    ///
    /// - Throws: `PostgresError`.
    public func isFinished(_ source: String) throws -> Bool {
        try records(of: source).contains { $0.name == Self.whole }
    }

    /// Waits until the imported rows are on disk. A complete import is also marked as such, and its reports of rejected
    /// values are deleted, since they are in a file by then. Throws `PostgresError`.
    public func finish(_ source: String, isWhole: Bool) throws {
        try connection.transaction {
            // A synchronous commit also flushes all earlier commits to disk, but only if it writes something.
            try connection.query("SET LOCAL synchronous_commit = on")
            try connection.query(
                "UPDATE \"roost-import\" SET \"state\" = \"state\" WHERE \"source\" = $1", [.text(source)])
            guard isWhole else { return }
            try connection.query(
                """
                DELETE FROM "roost-import-rejects" WHERE "number" IN (
                    SELECT "number" FROM "roost-import" WHERE "source" = $1)
                """, [.text(source)])
            try connection.query(
                """
                INSERT INTO "roost-import" ("source", "class", "mode", "state") VALUES ($1, $2, 'fill', 'done')
                ON CONFLICT DO NOTHING
                """, [.text(source), .text(Self.whole)])
        }
    }
}
