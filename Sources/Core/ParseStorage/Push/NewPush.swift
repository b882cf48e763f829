public import JSON
public import ParseModel
import Postgres

/// A push as it is noted when it is asked for.
public struct NewPush: Sendable {
    /// The id of its row.
    public var id: String
    /// The parameters of the request.
    public var body: JSONObject
    /// The condition, as the row shows it.
    public var query: JSONValue
    /// What the row is called; nil for nothing.
    public var title: String?
    /// What the hash of the row is made of.
    public var hashed: String
    /// When it is sent, as the row shows it.
    public var pushTime: String
    /// When the first of it is sent; nil for now.
    public var due: ParseDate?
    /// Whether it is sent when it is that time where the device is.
    public var isLocal = false
    /// When the services give up; nil for never.
    public var expiry: ParseDate?
    /// Whether the row shows that.
    public var showsExpiry = true
    /// After how many seconds they give up, as it was asked for.
    public var interval: Double?
    /// The audience that is used; nil for none.
    public var audienceId: String?
    /// When it was asked for.
    public var now: ParseDate

    /// Makes a note.
    public init(id: String, body: JSONObject, query: JSONValue, hashed: String, pushTime: String, now: ParseDate) {
        self.id = id
        self.body = body
        self.query = query
        self.hashed = hashed
        self.pushTime = pushTime
        self.now = now
    }
}

extension PushRows {
    /// Notes a push, all of it or nothing: its row, which only the master key reads, and what is to be sent.
    public func insert(_ push: NewPush) async throws {
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
        do {
            _ = try await store.group(statements)
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// The devices of a push that it did not reach within the last day, and why.
    public func failures(_ id: String, most: Int) async throws -> [JSONObject] {
        let rows = try await store.query(
            """
            SELECT "objectId", "deviceType", "reason" FROM "_roost_push_failure" WHERE "pushId" = $1
            ORDER BY "objectId" LIMIT $2
            """, [.text(id), .int(Int64(most))], readOnly: true)
        return (0..<rows.rowCount).map { row in
            [
                "objectId": .string(rows.string(row, 0) ?? ""), "deviceType": .string(rows.string(row, 1) ?? ""),
                "reason": .string(rows.string(row, 2) ?? ""),
            ]
        }
    }
}
