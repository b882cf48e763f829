public import JSON
public import ParseModel
import Postgres

/// The value of an option that an operator changed while the server ran.
public struct StoredOption: Sendable, Equatable {
    public let name: String
    public let value: JSONValue
    /// The name of the operator.
    public let who: String
    public let at: ParseDate
}

/// The config and GraphQL settings, the webhooks, and the options that operators changed.
public struct SettingsRows: Sendable {
    let store: ObjectStore

    /// A settings table, which has a single row.
    public enum Table: String, Sendable {
        case config = "_GlobalConfig"
        case graphQL = "_GraphQLConfig"
    }

    /// Updates the row of a settings table, and creates it if necessary.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable`, or `PostgresError` if the row can't be created.
    public func change(_ table: Table, _ write: ObjectWrite) async throws {
        _ = try await store.query(
            "INSERT INTO \(SQL.identifier(table.rawValue)) (\"objectId\") VALUES ('1') ON CONFLICT DO NOTHING", [])
        _ = try await store.update(table.rawValue, objectId: "1", write)
    }

    /// Replaces the webhooks that match a filter with a new one. The table has no unique key, so the old rows are
    /// deleted first.
    ///
    /// - Parameter columns: The values by column, all strings.
    /// - Throws: `ParseError` 107 if a value contains a NUL character, and other errors if the database fails.
    public func replaceHook(_ filter: Filter, with columns: JSONObject) async throws {
        let texts = try columns.map { try ValueText.checked($0.value.stringValue ?? "") }
        let names = columns.keys.texts.map(SQL.identifier).joined(separator: ", ")
        let values = (1...texts.count).map { "$\($0)" }.joined(separator: ", ")
        try await store.transaction { store in
            try await store.deleteAll("_Hooks", where: filter)
            _ = try await store.query(
                "INSERT INTO \"_Hooks\" (\(names)) VALUES (\(values))", texts.map { .text($0) })
        }
    }

    /// Returns all changed options. Always reads from the primary.
    public func options() async throws -> [StoredOption] {
        guard try await store.client.hasTable("_roost_option") else { return [] }
        let rows = try await store.client.query(
            "SELECT \"name\", \"value\", \"who\", \"at\" FROM \"_roost_option\" ORDER BY \"name\"", readOnly: true)
        return (0..<rows.rowCount).map { row in
            StoredOption(
                name: rows.string(row, 0) ?? "",
                value: rows.json(row, 1) ?? .null,
                who: rows.string(row, 2) ?? "", at: ParseDate(milliseconds: rows.timestamp(row, 3) ?? 0))
        }
    }

    /// Stores the value of an option, or removes the option if the value is nil. Creates the table if necessary.
    public func setOption(_ name: String, _ value: JSONValue?, by who: String) async throws {
        try await ProcessLock.schemaChange.make(
            """
            CREATE TABLE IF NOT EXISTS "_roost_option" ("name" text PRIMARY KEY, "value" jsonb NOT NULL, \
            "who" text NOT NULL, "at" timestamptz NOT NULL DEFAULT now());
            """, store.client)
        let put =
            "INSERT INTO \"_roost_option\" (\"name\", \"value\", \"who\") VALUES ($1, $2, $3) ON CONFLICT "
            + "(\"name\") DO UPDATE SET \"value\" = excluded.\"value\", \"who\" = excluded.\"who\", \"at\" = now()"
        _ = try await store.query(
            value.map { Statement(put, [.text(name), .jsonb($0.serialized()), .text(who)]) }
                ?? Statement("DELETE FROM \"_roost_option\" WHERE \"name\" = $1", [.text(name)]))
    }
}
