public import JSON
public import ParseModel
import Postgres

/// Tables of the deployment that are no classes of objects: settings in one row, and webhooks.
public struct SettingsRows: Sendable {
    let store: ObjectStore

    /// A table with one row.
    public enum Table: String, Sendable {
        case config = "_GlobalConfig"
        case graphQL = "_GraphQLConfig"
    }

    /// Changes the row of a table of settings, which is made where it is missing.
    ///
    /// - Throws: `ParseError`.
    public func change(_ table: Table, _ write: ObjectWrite) async throws {
        _ = try await store.query(
            "INSERT INTO \(SQL.identifier(table.rawValue)) (\"objectId\") VALUES ('1') ON CONFLICT DO NOTHING", [])
        _ = try await store.update(table.rawValue, objectId: "1", write)
    }

    /// Puts a webhook in the place of those that a filter finds. The table has no key of its own: what was there goes first,
    /// so that one row is left.
    ///
    /// - Parameter columns: The values, by column; all are texts.
    /// - Throws: `ParseError` 107 for a text that has a NUL character in it.
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
