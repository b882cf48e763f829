import Postgres

/// Advised indexes that cannot hold a value, as a long text: they are dropped, and the change is made once more, since
/// advice must not refuse what was accepted before.
struct RefusingIndexes {
    let store: ObjectStore

    /// How many of them one change drops at most.
    private static let mostRefusals = 8

    /// Runs a change until no index refuses it.
    func removing<R>(_ change: () async throws -> R) async throws -> R {
        for _ in 0..<Self.mostRefusals {
            do {
                return try await change()
            } catch let error as PostgresError {
                guard let index = Self.refusing(error) else { throw error }
                try await drop(index)
            }
        }
        return try await change()
    }

    /// The advised index that a value is too long for; nil for any other failure.
    static func refusing(_ error: PostgresError) -> String? {
        guard error.sqlState == "54000", let index = error.constraint, index.hasPrefix(IndexCandidate.prefix) else {
            return nil
        }
        return index
    }

    func drop(_ index: String) async throws {
        store.logger.warning(
            "an advised index is dropped, as a value is too long for it", metadata: ["index": "\(index)"])
        try await SchemaTransaction(client: store.client).run("DROP INDEX IF EXISTS \(SQL.identifier(index))")
        do {
            try await IndexRefusals(client: store.client).note(index)
        } catch {
            store.logger.warning(
                "it is not noted that an advised index was dropped",
                metadata: ["index": "\(index)", "error": "\(error)"])
        }
    }
}

/// The advised indexes that were dropped because a value was too long for them: none is built anew for a day, so that clients
/// do not have a table read again and again.
struct IndexRefusals: Sendable {
    let client: PostgresClient

    private static let definition = """
        CREATE TABLE IF NOT EXISTS "_roost_index_refusal" ("index" text PRIMARY KEY, "at" timestamptz NOT NULL);
        """

    /// Notes that an index was dropped now; throws `PostgresError`.
    func note(_ index: String) async throws {
        do {
            try await insert(index)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            try await ProcessLock.schemaChange.make(Self.definition, client)
            try await insert(index)
        }
    }

    private func insert(_ index: String) async throws {
        _ = try await client.query(
            """
            WITH old AS (DELETE FROM "_roost_index_refusal" WHERE "at" < now() - interval '1 day' AND "index" <> $1)
            INSERT INTO "_roost_index_refusal" VALUES ($1, now()) ON CONFLICT ("index") DO UPDATE SET "at" = excluded."at"
            """, [.text(index)])
    }

    /// The indexes that were dropped within a day; throws `PostgresError`.
    func recent() async throws -> Set<String> {
        guard try await client.hasTable("_roost_index_refusal") else { return [] }
        let rows = try await client.query(
            "SELECT \"index\" FROM \"_roost_index_refusal\" WHERE \"at\" > now() - interval '1 day'")
        return Set((0..<rows.rowCount).compactMap { rows.string($0, 0) })
    }
}
