public import JSON
import ParseModel
import Postgres

/// An action in the console, or a change made with a server key, for the audit log.
public struct AuditEntry: Sendable {
    public var operatorName = ""
    public var role = ""
    public var address = ""
    public var requestId = ""
    public var method = ""
    public var path = ""
    /// The class, or nil if the call concerns no class or several.
    public var className: String?
    /// The number of objects that the call concerns.
    public var count = 1
    /// The object ids, at most ``maxIds``.
    public var ids: [String] = []
    /// The names of the fields that the call sets, at most ``maxIds``.
    public var fields: [String] = []
    /// The values before the change, such as those of `fields`, or nil for none.
    public var before: JSONValue?

    public init() {}

    /// The maximum number of ids in an entry, and of fields.
    public static let maxIds = 100
    /// The maximum length in bytes of a name, an id or a path.
    private static let maxTextBytes = 500

    /// Truncates a string and removes NUL characters, which PostgreSQL rejects. The limit is in bytes, since one
    /// character can have thousands of combining marks.
    public static func short(_ text: String) -> String {
        guard text.utf8.count > maxTextBytes || text.utf8.contains(0) else { return text }
        return String(decoding: text.utf8.lazy.filter { $0 != 0 }.prefix(maxTextBytes), as: UTF8.self)
    }

    /// Truncates a list, and each text in it.
    public static func short(_ texts: [String]) -> [String] { texts.prefix(maxIds).map { short($0) } }
}

/// The audit log of actions in the console and changes made with a server key. An entry can be completed once, but
/// not changed otherwise.
public struct AuditRows: Sendable {
    let store: ObjectStore

    /// Adds an entry without a result. Returns its number. Long strings and lists are truncated, since a client may
    /// send anything.
    public func begin(_ entry: AuditEntry) async throws -> Int {
        let rows = try await store.query(
            """
            INSERT INTO "_roost_audit" ("operator", "role", "address", "requestId", "method", "path", "className", "count",
                "ids", "fields", "before") VALUES ($1, $2, $3, $4, $5, $6, $7, $8::bigint, $9, $10, $11) RETURNING "id"
            """,
            [
                .text(AuditEntry.short(entry.operatorName)), .text(entry.role), .text(entry.address),
                .text(AuditEntry.short(entry.requestId)), .text(entry.method), .text(AuditEntry.short(entry.path)),
                entry.className.map { .text(AuditEntry.short($0)) } ?? .null(.text), .int(Int64(entry.count)),
                .textArray(AuditEntry.short(entry.ids)), .textArray(AuditEntry.short(entry.fields)),
                Self.json(entry.before),
            ])
        guard let id = rows.int(0, 0) else { throw PostgresError(.server, "the audit entry got no number") }
        return Int(id)
    }

    /// Adds the result to an entry that has none. If storing the result fails, this only logs the failure, because the
    /// change has already happened.
    ///
    /// - Parameters:
    ///   - ids: All ids of the entry, including those of new objects, or nil to keep the stored ones.
    ///   - after: The values after the change, or those that the call sent, or nil for none.
    public func complete(_ id: Int, status: Int, ids: [String]?, after: JSONValue?) async {
        let statement = Statement(
            """
            UPDATE "_roost_audit" SET "status" = $2::bigint, "ids" = coalesce($3, "ids"), "after" = $4
            WHERE "id" = $1 AND "status" IS NULL
            """,
            [
                .int(Int64(id)), .int(Int64(status)),
                ids.map { .textArray(AuditEntry.short($0)) } ?? .null(.textArray),
                Self.json(after),
            ])
        let store = store
        // The client may have disconnected. The entry must be completed anyway.
        await Task {
            do {
                _ = try await store.query(statement)
            } catch {
                store.logger.error(
                    "could not store the result of an audit entry",
                    metadata: ["entry": "\(id)", "status": "\(status)", "error": "\(error)"])
            }
        }.value
    }

    private static func json(_ value: JSONValue?) -> PostgresParameter {
        value.map { .jsonb($0.serialized()) } ?? .null(.jsonb)
    }

    /// The assumed maximum distance, in entry numbers, between entries that are out of time order. Searches by time are
    /// widened by it.
    private static let overlap = 10_000

    private static let pageSize = 100

    /// Searches the audit log, newest entries first.
    ///
    /// - Parameter query: The conditions `operator`, `className`, `objectId`, `method`, `path`, `from` (inclusive) and
    ///   `until` (exclusive), all optional, and `before`, the entry number below which entries are returned.
    /// - Returns: The entries in `rows`, at most 100. After a full page, `next` is the `before` of the next page.
    /// - Throws: 102 for an invalid time.
    public func answer(_ query: JSONObject) async throws -> JSONObject {
        var builder = SQLBuilder()
        var conditions = ["TRUE"]
        if let before = query["before"]?.numberValue.flatMap({ Int64(exactly: $0) }) {
            conditions.append("\"id\" < \(builder.bind(.int(before)))")
        }
        // JSON numbers are also accepted, because a name can consist of digits.
        func text(_ name: Name) -> String? { query[name].map { $0.stringValue ?? $0.text } }
        for column: Name in ["operator", "className", "method", "path"] {
            if let text = text(column) { conditions.append("\"\(column)\" = \(builder.bind(.text(text)))") }
        }
        if let id = text("objectId") { conditions.append("\"ids\" @> \(builder.bind(.textArray([id])))") }
        func time(_ name: Name) throws(ParseError) -> String? {
            guard let given = text(name) else { return nil }
            guard let date = ParseDate(iso: given) else {
                throw ParseError(ParseError.invalidQuery, "\(name) must be a time such as 2026-01-31T12:00:00.000Z.")
            }
            return builder.bind(.timestamp(milliseconds: date.milliseconds))
        }
        if let from = try time("from") {
            conditions.append("\"at\" >= \(from)")
            conditions.append(
                """
                "id" >= (SELECT "id" FROM "_roost_audit" WHERE "at" >= \(from) ORDER BY "at" LIMIT 1) - \(Self.overlap)
                """)
        }
        if let until = try time("until") {
            conditions.append("\"at\" < \(until)")
            conditions.append(
                """
                "id" <= (SELECT "id" FROM "_roost_audit" WHERE "at" < \(until) ORDER BY "at" DESC LIMIT 1)
                    + \(Self.overlap)
                """)
        }
        guard try await store.client.hasTable("_roost_audit") else { return ["rows": []] }
        let found = try await store.query(
            """
            SELECT coalesce(jsonb_agg(to_jsonb(found) || jsonb_build_object('at',
                to_char(found."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) ORDER BY found."id" DESC), '[]')
            FROM (SELECT * FROM "_roost_audit" WHERE \(conditions.joined(separator: " AND "))
                ORDER BY "id" DESC LIMIT \(Self.pageSize)) AS found
            """, builder.parameters)
        let rows = found.json(0, 0) ?? []
        var answer: JSONObject = ["rows": rows]
        if let list = rows.arrayValue, list.count == Self.pageSize, let last = list.last?["id"] {
            answer["next"] = last
        }
        return answer
    }

    /// Removes entries older than `days` days.
    public func sweep(days: Int) async throws {
        guard try await store.client.hasTable("_roost_audit") else { return }
        _ = try await store.query(
            "DELETE FROM \"_roost_audit\" WHERE \"at\" < now() - make_interval(days => $1::bigint::integer)",
            [.int(Int64(days))])
    }
}
