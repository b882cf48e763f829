public import JSON
public import ParseModel
import Postgres

/// Settings and webhooks: tables that are not classes.
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
}
