public import Postgres

/// Uploaded files as rows: one for each file, and one for each chunk of its bytes.
///
/// A file is begun, filled and then given its name in one transaction, so that none waits for a client. What it replaces
/// stays for those who read it, until it is swept.
public struct FileRows: Sendable {
    /// A file that is stored.
    public struct Row: Sendable {
        public let id: Int64
        public let name: String
        public let size: Int64
        /// The bytes of each chunk but the last.
        public let chunk: Int64
        public let tag: String
        /// What the client said about it, as JSON.
        public let details: String
        /// In milliseconds since 1970.
        public let modified: Int64
    }

    private let client: PostgresClient

    /// Rows of a database.
    public init(client: PostgresClient) { self.client = client }

    /// Makes the tables, if there are none. Chunks are not compressed, so that a part of one is read as such: they have that
    /// from another table, since Citus does not change how a column is stored.
    public func prepare() async throws {
        // All of them came together. Who finds them needs no right to make tables, temporary ones included.
        let areThere = try await client.query(
            """
            SELECT EXISTS (SELECT FROM pg_tables WHERE tablename = '_roost_file_chunk' AND schemaname = current_schema())
            """, [], readOnly: true)
        if areThere.bool(0, 0) == true { return }
        try await ProcessLock.schemaChange.make(
            """
            CREATE TABLE IF NOT EXISTS "_roost_file" (
                "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "name" text NOT NULL,
                "size" bigint NOT NULL DEFAULT 0, "chunk" bigint NOT NULL, "tag" text NOT NULL DEFAULT '',
                "details" text NOT NULL, "modified" timestamptz NOT NULL DEFAULT now(),
                "state" text NOT NULL DEFAULT 'begun');
            CREATE UNIQUE INDEX IF NOT EXISTS "_roost_file_name" ON "_roost_file" ("name" COLLATE "C")
                WHERE "state" = 'stored';
            CREATE INDEX IF NOT EXISTS "_roost_file_left" ON "_roost_file" ("modified") WHERE "state" <> 'stored';
            CREATE TEMP TABLE "_roost_file_layout" (
                "file" bigint NOT NULL, "n" bigint NOT NULL, "data" bytea NOT NULL) ON COMMIT DROP;
            ALTER TABLE "_roost_file_layout" ALTER COLUMN "data" SET STORAGE EXTERNAL;
            CREATE TABLE IF NOT EXISTS "_roost_file_chunk" (
                LIKE "_roost_file_layout" INCLUDING STORAGE, PRIMARY KEY ("file", "n"))
                WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
            """, client)
    }

    /// Begins a file.
    ///
    /// - Returns: Its id.
    public func begin(_ name: String, details: String, chunk: Int) async throws -> Int64 {
        let result = try await client.query(
            "INSERT INTO \"_roost_file\" (\"name\", \"details\", \"chunk\") VALUES ($1, $2, $3) RETURNING \"id\"",
            [.text(name), .text(details), .int(Int64(chunk))])
        return result.int(0, 0) ?? 0
    }

    /// Adds the chunk of a number, and says that the file is still being written, and how much of it there is.
    public func append(_ bytes: [UInt8], _ number: Int64, to id: Int64) async throws {
        // It need not be on the disk before the file has its name.
        _ = try await client.group([
            Statement("SELECT set_config('synchronous_commit', 'off', true)"),
            Statement(
                "INSERT INTO \"_roost_file_chunk\" (\"file\", \"n\", \"data\") VALUES ($1, $2, $3)",
                [.int(id), .int(number), .bytes(bytes)]),
            Statement(
                "UPDATE \"_roost_file\" SET \"size\" = \"size\" + $2 WHERE \"id\" = $1",
                [.int(id), .int(Int64(bytes.count))]),
            // By itself, as Citus takes no clock in a CASE. Once a minute is enough, and spares an index.
            Statement(
                """
                UPDATE "_roost_file" SET "modified" = now()
                WHERE "id" = $1 AND "modified" < now() - interval '1 minute'
                """, [.int(id)]),
        ])
    }

    /// Gives a file its name, and takes it from the one that had it.
    ///
    /// - Returns: Whether the file is still there.
    public func finish(_ id: Int64, _ name: String, size: Int64, tag: String) async throws -> Bool {
        var attempt = 0
        while true {
            do {
                let results = try await client.group([
                    // From here on no sweep takes it. Where one has, the file that has the name keeps it.
                    Statement(
                        """
                        UPDATE "_roost_file" SET "size" = $2, "tag" = $3, "modified" = now()
                        WHERE "id" = $1 AND "state" = 'begun'
                        """, [.int(id), .int(size), .text(tag)]),
                    Statement(
                        """
                        UPDATE "_roost_file" SET "state" = 'deleted', "modified" = now()
                        WHERE "name" COLLATE "C" = $1 AND "state" = 'stored'
                            AND EXISTS (SELECT FROM "_roost_file" WHERE "id" = $2 AND "state" = 'begun')
                        """, [.text(name), .int(id)]),
                    Statement(
                        "UPDATE \"_roost_file\" SET \"state\" = 'stored' WHERE \"id\" = $1 AND \"state\" = 'begun'",
                        [.int(id)]),
                ])
                return results.last?.affectedRows == 1
            } catch let error as PostgresError where error.sqlState == "23505" && attempt < 5 {
                // Another file got the name in between: it is replaced in turn.
                attempt += 1
            }
        }
    }

    /// The file of a name; nil if there is none.
    public func find(_ name: String) async throws -> Row? {
        let result = try await client.query(
            """
            SELECT "id", "name", "size", "chunk", "tag", "details", "modified" FROM "_roost_file"
            WHERE "name" COLLATE "C" = $1 AND "state" = 'stored'
            """, [.text(name)], readOnly: true)
        return result.rowCount > 0 ? row(result, 0) : nil
    }

    /// Bytes of a chunk; nil where there is none.
    public func read(_ id: Int64, _ number: Int64, _ range: Range<Int64>) async throws -> PostgresResult? {
        let result = try await client.query(
            """
            SELECT substring("data" FROM $3::int8::int4 FOR $4::int8::int4) FROM "_roost_file_chunk"
            WHERE "file" = $1 AND "n" = $2
            """, [.int(id), .int(number), .int(range.lowerBound + 1), .int(Int64(range.count))], readOnly: true)
        return result.rowCount > 0 ? result : nil
    }

    /// Takes the name from a file.
    ///
    /// - Returns: Whether there was one.
    public func delete(_ name: String) async throws -> Bool {
        try await client.query(
            """
            UPDATE "_roost_file" SET "state" = 'deleted', "modified" = now()
            WHERE "name" COLLATE "C" = $1 AND "state" = 'stored'
            """, [.text(name)]
        ).affectedRows > 0
    }

    /// Some of the files whose names begin with a text, by the bytes of their names.
    public func list(prefix: String, after name: String, limit: Int) async throws -> [Row] {
        let result = try await client.query(
            """
            SELECT "id", "name", "size", "chunk", "tag", '', "modified" FROM "_roost_file"
            WHERE "state" = 'stored' AND "name" COLLATE "C" > $2 AND starts_with("name", $1)
            ORDER BY "name" COLLATE "C" LIMIT $3
            """, [.text(prefix), .text(name), .int(Int64(limit))], readOnly: true)
        return (0..<result.rowCount).map { row(result, $0) }
    }

    /// The bytes of all files, and of those that were begun before one and are being written.
    public func total(before id: Int64 = .max) async throws -> Int64 {
        try await client.query(
            """
            SELECT coalesce(sum("size"), 0)::int8 FROM "_roost_file"
            WHERE "state" = 'stored' OR "state" = 'begun' AND "id" < $1
            """, [.int(id)], readOnly: true
        ).int(0, 0) ?? 0
    }

    /// Gives up a file that was begun, or has lost its name. One that is stored stays: it may have got its name since it
    /// was looked at, or by a transaction whose answer was lost.
    public func abandon(_ id: Int64) async throws {
        _ = try await client.group([
            Statement("DELETE FROM \"_roost_file\" WHERE \"id\" = $1 AND \"state\" <> 'stored'", [.int(id)]),
            Statement(
                """
                DELETE FROM "_roost_file_chunk"
                WHERE "file" = $1 AND NOT EXISTS (SELECT FROM "_roost_file" WHERE "id" = $1)
                """, [.int(id)]),
        ])
    }

    /// Removes files that were replaced, deleted or never ended some time ago.
    ///
    /// - Parameter seconds: For how long nothing has happened to them.
    public func sweep(olderThan seconds: Double) async throws {
        while true {
            let result = try await client.query(
                """
                SELECT "id" FROM "_roost_file"
                WHERE "state" <> 'stored' AND "modified" < now() - make_interval(secs => $1) LIMIT 20
                """, [.double(seconds)])
            guard result.rowCount > 0 else { return }
            for row in 0..<result.rowCount { try await abandon(result.int(row, 0) ?? 0) }
        }
    }

    private func row(_ result: PostgresResult, _ row: Int) -> Row {
        Row(
            id: result.int(row, 0) ?? 0, name: result.string(row, 1) ?? "", size: result.int(row, 2) ?? 0,
            chunk: result.int(row, 3) ?? 1, tag: result.string(row, 4) ?? "", details: result.string(row, 5) ?? "",
            modified: result.timestamp(row, 6) ?? 0)
    }
}
