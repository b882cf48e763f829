import JSON
import ParseModel
import ParseStorage
import Postgres

/// A requested push, before its rows are stored.
struct NewPush: Sendable {
    /// The object id of the push's `_PushStatus` row.
    var id: String
    var body: JSONObject
    /// The audience's condition, as stored in the row.
    var query: JSONValue
    /// The title of the row, or nil for none.
    var title: String?
    /// The text whose MD5 hash is the row's `pushHash`.
    var hashed: String
    /// The send time as stored in the row.
    var pushTime: String
    /// The send time of the first part, or nil to send now.
    var due: ParseDate?
    /// Whether the push is sent at its time in each device's time zone.
    var isLocal = false
    /// The time at which push services stop trying to deliver the push, or nil to use their defaults.
    var expiry: ParseDate?
    /// Whether the row includes the expiry.
    var showsExpiry = true
    /// The requested expiration interval in seconds, or nil if none was sent.
    var interval: Double?
    /// The `_Audience` object whose usage is counted, or nil for none.
    var audienceId: String?
    var now: ParseDate
}

extension PushRows {
    /// Stores a push in one transaction: its `_PushStatus` row with an empty ACL, its request and its first part.
    func insert(_ push: NewPush) async throws {
        let now = PostgresParameter.timestamp(milliseconds: push.now.milliseconds)
        let expiry = push.expiry?.milliseconds
        var statements = [
            Statement(
                """
                INSERT INTO "_PushStatus" ("objectId", "createdAt", "updatedAt", "pushTime", "query", "payload", "source",
                    "title", "expiry", "expiration_interval", "status", "numSent", "pushHash", "_rperm", "_wperm")
                VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, md5($11), '{}', '{}')
                """,
                [
                    .text(push.id), now, .text(push.pushTime), .text(push.query.text),
                    .text((push.body["data"] ?? [:]).text),
                    .text(push.body["dry_run"]?.boolValue == true ? "dryRun" : "rest"),
                    push.title.map { .text($0) } ?? .null(.text),
                    (push.showsExpiry ? expiry : nil).map { .double(Double($0)) } ?? .null(.float8),
                    push.interval.map { .double($0) } ?? .null(.float8),
                    .text(push.due == nil ? "pending" : "scheduled"), .text(push.hashed),
                ]),
            Statement(
                "INSERT INTO \"_roost_push\" VALUES ($1, $2, $3, $4, $5)",
                [
                    .text(push.id), .text(JSONValue.object(push.body).text), expiry.map { .int($0) } ?? .null(.int8),
                    .text(push.pushTime), .bool(push.isLocal),
                ]),
            Statement(
                "INSERT INTO \"_roost_push_part\" VALUES ($1, '', NULL, $2)",
                [.text(push.id), push.due.map { .timestamp(milliseconds: $0.milliseconds) } ?? now]),
        ]
        if let audience = push.audienceId {
            statements.append(
                Statement(
                    """
                    UPDATE "_Audience" SET "lastUsed" = $2, "updatedAt" = $2, "timesUsed" = COALESCE("timesUsed", 0) + 1
                    WHERE "objectId" = $1
                    """, [.text(audience), now]))
        }
        _ = try await store.convertingErrors { try await store.group(statements) }
    }

    /// Returns devices that the push didn't reach, with reasons. Failures are kept for one day.
    func failures(_ id: String, limit: Int) async throws -> [JSONObject] {
        let rows = try await store.query(
            """
            SELECT "objectId", "deviceType", "reason" FROM "_roost_push_failure" WHERE "pushId" = $1
            ORDER BY "objectId" LIMIT $2
            """, [.text(id), .int(Int64(limit))], readOnly: true)
        return (0..<rows.rowCount).map { row in
            [
                "objectId": .string(rows.string(row, 0) ?? ""), "deviceType": .string(rows.string(row, 1) ?? ""),
                "reason": .string(rows.string(row, 2) ?? ""),
            ]
        }
    }
}
