public import Postgres
import Synchronization

/// The console's own tables, which no API route can read. They are created when they are first needed.
public final class ConsoleTables: Sendable {
    private let client: PostgresClient
    private let areReady = Atomic(false)

    public init(client: PostgresClient) { self.client = client }

    /// Creates missing tables and adds columns that earlier versions lacked. Does nothing after the first success in a
    /// process.
    ///
    /// - Throws: `PostgresError`.
    public func prepare() async throws {
        guard !areReady.load(ordering: .acquiring) else { return }
        try await ProcessLock.schemaChange.make(Self.definitions, client)
        areReady.store(true, ordering: .releasing)
    }

    private static let definitions = """
        CREATE TABLE IF NOT EXISTS "_roost_operator" (
            "id" text PRIMARY KEY, "name" text NOT NULL UNIQUE, "hash" text NOT NULL, "role" text NOT NULL,
            "createdAt" timestamptz NOT NULL DEFAULT now());
        ALTER TABLE "_roost_operator" ADD COLUMN IF NOT EXISTS "secret" text,
            ADD COLUMN IF NOT EXISTS "step" bigint NOT NULL DEFAULT 0;
        CREATE TABLE IF NOT EXISTS "_roost_operator_session" (
            "token" bytea PRIMARY KEY, "cookie" bytea, "operator" text REFERENCES "_roost_operator" ON DELETE CASCADE,
            "name" text NOT NULL, "role" text NOT NULL, "createdAt" timestamptz NOT NULL DEFAULT now(),
            "usedAt" timestamptz NOT NULL DEFAULT now(), "until" timestamptz NOT NULL, "address" text NOT NULL,
            "agent" text NOT NULL);
        ALTER TABLE "_roost_operator_session" ADD COLUMN IF NOT EXISTS "confirmedAt" timestamptz NOT NULL DEFAULT now(),
            ADD COLUMN IF NOT EXISTS "deleted" bigint NOT NULL DEFAULT 0;
        CREATE TABLE IF NOT EXISTS "_roost_audit" (
            "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "at" timestamptz NOT NULL DEFAULT now(),
            "operator" text NOT NULL, "role" text NOT NULL, "address" text NOT NULL, "requestId" text NOT NULL,
            "method" text NOT NULL, "path" text NOT NULL, "className" text, "count" integer NOT NULL DEFAULT 1,
            "ids" text[] NOT NULL DEFAULT '{}', "fields" text[] NOT NULL DEFAULT '{}', "before" jsonb,
            "after" jsonb, "status" integer);
        CREATE INDEX IF NOT EXISTS "_roost_audit_at" ON "_roost_audit" ("at");
        CREATE INDEX IF NOT EXISTS "_roost_audit_operator" ON "_roost_audit" ("operator", "id");
        CREATE INDEX IF NOT EXISTS "_roost_audit_class" ON "_roost_audit" ("className", "id");
        CREATE TABLE IF NOT EXISTS "_roost_trash" (
            "_id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "_class" text NOT NULL,
            "_object" text NOT NULL, "_operator" text NOT NULL, "_deleted" timestamptz NOT NULL DEFAULT now(),
            "_row" jsonb NOT NULL, "_relations" jsonb, "_nulls" text[], "_bytes" bigint NOT NULL);
        CREATE INDEX IF NOT EXISTS "_roost_trash_class" ON "_roost_trash" ("_class", "_object");
        CREATE INDEX IF NOT EXISTS "_roost_trash_deleted" ON "_roost_trash" ("_deleted");
        CREATE INDEX IF NOT EXISTS "_roost_trash_size" ON "_roost_trash" ("_id") INCLUDE ("_bytes");
        CREATE TABLE IF NOT EXISTS "_roost_view" (
            "id" text PRIMARY KEY, "class" text NOT NULL, "name" text NOT NULL, "shared" boolean NOT NULL,
            "owner" text NOT NULL, "content" text NOT NULL, "changed" timestamptz NOT NULL DEFAULT now());
        """
}

extension PostgresClient {
    /// Returns whether a table or sequence exists.
    package func hasTable(_ name: String) async throws -> Bool {
        try await query("SELECT to_regclass($1) IS NOT NULL", [.text(SQL.identifier(name))], readOnly: true)
            .bool(0, 0) == true
    }
}
