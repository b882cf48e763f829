public import Postgres

/// A device that a test notification is sent to.
public struct PushTarget: Sendable {
    /// The device's `pushType`, if set, and its `deviceType`, which is empty if it isn't set.
    public let types: [String]
    /// The device token, or nil if the device has none.
    public let token: String?
    /// The `appIdentifier`, or nil if the device has none.
    public let app: String?

    /// Reads an installation. Returns nil if it doesn't exist.
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
