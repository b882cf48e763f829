public import Postgres

/// A device that a notification is sent to by hand.
public struct PushTarget: Sendable {
    /// What its row calls its type, and the service that it asks for.
    public let types: [String]
    /// Its token; nil where it has none.
    public let token: String?
    /// The app on it; nil where the row does not say.
    public let app: String?

    /// Reads an installation; nil for one that there is not.
    public static func find(_ objectId: String, _ client: PostgresClient) async throws -> PushTarget? {
        let rows = try await client.query(
            """
            SELECT "pushType", COALESCE("deviceType", ''), "deviceToken", "appIdentifier" FROM "_Installation"
            WHERE "objectId" = $1
            """, [.text(objectId)])
        guard rows.rowCount > 0 else { return nil }
        return PushTarget(
            types: [rows.string(0, 0), rows.string(0, 1)].compactMap { $0 }, token: rows.string(0, 2),
            app: rows.string(0, 3))
    }
}
