public import Postgres

/// Uploaded files in the database, with one row per file and one per chunk.
///
/// A file is created, filled and finally named in separate transactions, so that no transaction waits for a client. A
/// replaced file remains readable until it is swept.
public struct FileRows: Sendable {
    /// A stored file.
    public struct Row: Sendable {
        public let id: Int64
        public let name: String
        public let size: Int64
        /// The size of each chunk except the last, in bytes.
        public let chunk: Int64
        public let tag: String
        /// The file's metadata, tags and content type, as JSON. Empty in a list.
        public let details: String
        /// The time of the last change, in milliseconds since 1970.
        public let modified: Int64
    }

    private let client: PostgresClient

    public init(client: PostgresClient) { self.client = client }

    /// Creates missing tables. Chunks are stored uncompressed, so that PostgreSQL can read parts of them. The storage
    /// option is copied from a temporary table, because Citus can't change it on an existing column.
    public func prepare() async throws {
        // All tables are created together. If they exist, the role needn't be allowed to create tables.
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

    /// Creates a file without content and returns its id. The file can't be found by its name yet.
    public func begin(_ name: String, details: String, chunk: Int) async throws -> Int64 {
        let result = try await client.query(
            "INSERT INTO \"_roost_file\" (\"name\", \"details\", \"chunk\") VALUES ($1, $2, $3) RETURNING \"id\"",
            [.text(name), .text(details), .int(Int64(chunk))])
        return result.int(0, 0) ?? 0
    }

    /// Appends a chunk and updates the file's size and, at most once a minute, its modification time.
    public func append(_ bytes: [UInt8], _ number: Int64, to id: Int64) async throws {
        // Chunks needn't be durable before the file gets its name.
        _ = try await client.group([
            Statement("SELECT set_config('synchronous_commit', 'off', true)"),
            Statement(
                "INSERT INTO \"_roost_file_chunk\" (\"file\", \"n\", \"data\") VALUES ($1, $2, $3)",
                [.int(id), .int(number), .bytes(bytes)]),
            Statement(
                "UPDATE \"_roost_file\" SET \"size\" = \"size\" + $2 WHERE \"id\" = $1",
                [.int(id), .int(Int64(bytes.count))]),
            // A separate statement, because Citus doesn't support now() in a CASE. The limit of once a minute saves
            // index updates.
            Statement(
                """
                UPDATE "_roost_file" SET "modified" = now()
                WHERE "id" = $1 AND "modified" < now() - interval '1 minute'
                """, [.int(id)]),
        ])
    }

    /// Gives a file its name and takes the name from the previous file. Returns false if the file was swept meanwhile.
    public func finish(_ id: Int64, _ name: String, size: Int64, tag: String) async throws -> Bool {
        var attempt = 0
        while true {
            do {
                let results = try await client.group([
                    // From now on no sweep can delete the file. If one already has, the previous file keeps its name.
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
                // Another file got the name meanwhile. The next attempt replaces it.
                attempt += 1
            }
        }
    }

    /// Returns the file with this name, or nil if it doesn't exist.
    public func find(_ name: String) async throws -> Row? {
        let result = try await client.query(
            """
            SELECT "id", "name", "size", "chunk", "tag", "details", "modified" FROM "_roost_file"
            WHERE "name" COLLATE "C" = $1 AND "state" = 'stored'
            """, [.text(name)], readOnly: true)
        return result.rowCount > 0 ? row(result, 0) : nil
    }

    /// Returns a row with a range of a chunk's bytes, or nil if the chunk doesn't exist.
    public func read(_ id: Int64, _ number: Int64, _ range: Range<Int64>) async throws -> PostgresResult? {
        let result = try await client.query(
            """
            SELECT substring("data" FROM $3::int8::int4 FOR $4::int8::int4) FROM "_roost_file_chunk"
            WHERE "file" = $1 AND "n" = $2
            """, [.int(id), .int(number), .int(range.lowerBound + 1), .int(Int64(range.count))], readOnly: true)
        return result.rowCount > 0 ? result : nil
    }

    /// Marks a file as deleted. Returns false if it doesn't exist.
    public func delete(_ name: String) async throws -> Bool {
        try await client.query(
            """
            UPDATE "_roost_file" SET "state" = 'deleted', "modified" = now()
            WHERE "name" COLLATE "C" = $1 AND "state" = 'stored'
            """, [.text(name)]
        ).affectedRows > 0
    }

    /// Returns a page of the files whose names begin with `prefix`, sorted by the bytes of their names.
    public func list(prefix: String, after name: String, limit: Int) async throws -> [Row] {
        let result = try await client.query(
            """
            SELECT "id", "name", "size", "chunk", "tag", '', "modified" FROM "_roost_file"
            WHERE "state" = 'stored' AND "name" COLLATE "C" > $2 AND starts_with("name", $1)
            ORDER BY "name" COLLATE "C" LIMIT $3
            """, [.text(prefix), .text(name), .int(Int64(limit))], readOnly: true)
        return (0..<result.rowCount).map { row(result, $0) }
    }

    /// Returns the total size in bytes of all stored files, and of unfinished ones created before `id`.
    public func total(before id: Int64 = .max) async throws -> Int64 {
        try await client.query(
            """
            SELECT coalesce(sum("size"), 0)::int8 FROM "_roost_file"
            WHERE "state" = 'stored' OR "state" = 'begun' AND "id" < $1
            """, [.int(id)], readOnly: true
        ).int(0, 0) ?? 0
    }

    /// Removes a file that is unfinished or deleted. A stored file is kept: it may have been finished meanwhile, or by
    /// a transaction whose result was lost.
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

    /// Removes files that were replaced, deleted or left unfinished.
    ///
    /// - Parameter seconds: The minimum time since their last change, in seconds.
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
