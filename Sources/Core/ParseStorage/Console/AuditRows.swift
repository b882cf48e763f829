public import JSON
public import ParseModel
import Postgres

/// What is kept of a call of the console that changes something.
public struct AuditEntry: Sendable {
    public var operatorName = ""
    public var role = ""
    public var address = ""
    public var requestId = ""
    public var method = ""
    public var path = ""
    /// The class; nil where it is about none, or about several.
    public var className: String?
    /// How many objects it is about.
    public var count = 1
    /// The first of their ids.
    public var ids: [String] = []
    /// The fields that it sets.
    public var fields: [String] = []
    /// The values of these fields before.
    public var before: JSONValue?

    /// An entry that says nothing.
    public init() {}

    /// How many ids, and how many fields, an entry has at most.
    public static let mostIds = 100
    /// Byte limit of a name, an id or a path.
    private static let mostText = 500

    /// The same without what is too much of it: all of it may be what a browser sent.
    var bounded: AuditEntry {
        var entry = self
        entry.operatorName = Self.short(operatorName)
        entry.requestId = Self.short(requestId)
        entry.path = Self.short(path)
        entry.className = className.map { Self.short($0) }
        entry.ids = Self.short(ids)
        entry.fields = Self.short(fields)
        return entry
    }

    /// The beginning of a text: by bytes, since one character can have thousands of marks; without NUL characters, which
    /// the database does not take.
    public static func short(_ text: String) -> String {
        guard text.utf8.count > mostText || text.utf8.contains(0) else { return text }
        return String(decoding: text.utf8.lazy.filter { $0 != 0 }.prefix(mostText), as: UTF8.self)
    }

    /// The first of some texts.
    public static func short(_ texts: [String]) -> [String] { texts.prefix(mostIds).map { short($0) } }
}

/// Which entries are asked for.
public struct AuditQuery: Sendable {
    /// Those with smaller numbers.
    public var before: Int?
    public var operatorName: String?
    public var className: String?
    /// The object that was changed.
    public var objectId: String?
    /// What was done, by the method of the call.
    public var method: String?
    /// Inclusive.
    public var from: ParseDate?
    /// Exclusive.
    public var until: ParseDate?
    public var limit = 100

    /// All entries.
    public init() {}
}

/// Who changed what by the console, or with a key of the server. There is no way to change an entry but to complete it, once.
public struct AuditRows: Sendable {
    let store: ObjectStore

    /// Adds an entry whose result is not known yet.
    ///
    /// - Returns: Its number.
    public func begin(_ entry: AuditEntry) async throws -> Int {
        let entry = entry.bounded
        let rows = try await store.query(
            Statement(
                """
                INSERT INTO "_roost_audit" ("operator", "role", "address", "requestId", "method", "path", "className", "count",
                    "ids", "fields", "before") VALUES ($1, $2, $3, $4, $5, $6, $7, $8::bigint, $9, $10, $11) RETURNING "id"
                """,
                [
                    .text(entry.operatorName), .text(entry.role), .text(entry.address), .text(entry.requestId),
                    .text(entry.method), .text(entry.path), entry.className.map { .text($0) } ?? .null(.text),
                    .int(Int64(entry.count)), .textArray(entry.ids), .textArray(entry.fields), Self.json(entry.before),
                ]))
        guard let id = rows.int(0, 0) else { throw PostgresError(.server, "audit entry without a number") }
        return Int(id)
    }

    /// Adds the result to an entry that has none. The change has already happened, so if the result can't be stored,
    /// this logs it and leaves the entry without one.
    ///
    /// - Parameters:
    ///   - ids: The ids of what was made; nil where they were known before.
    ///   - after: The values of the fields now.
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
        // The client may have left meanwhile. The entry must be completed anyway.
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

    /// How far entries may be out of time order, in numbers. Searches by time are widened by it.
    private static let overlap = 10_000

    /// Entries, the latest first, as JSON.
    public func list(_ query: AuditQuery) async throws -> JSONValue {
        guard try await store.client.hasTable("_roost_audit") else { return [] }
        var builder = SQLBuilder()
        var conditions: [String] = []
        if let before = query.before { conditions.append("\"id\" < \(builder.bind(.int(Int64(before))))") }
        let texts = [
            ("operator", query.operatorName), ("className", query.className), ("method", query.method),
        ]
        for case (let column, let text?) in texts {
            conditions.append("\(SQLBuilder.quote(column)) = \(builder.bind(.text(text)))")
        }
        if let id = query.objectId { conditions.append("\"ids\" @> \(builder.bind(.textArray([id])))") }
        if let from = query.from {
            let at = builder.bind(.timestamp(milliseconds: from.milliseconds))
            conditions.append("\"at\" >= \(at)")
            conditions.append(
                """
                "id" >= (SELECT "id" FROM "_roost_audit" WHERE "at" >= \(at) ORDER BY "at" LIMIT 1) - \(Self.overlap)
                """)
        }
        if let until = query.until {
            let at = builder.bind(.timestamp(milliseconds: until.milliseconds))
            conditions.append("\"at\" < \(at)")
            conditions.append(
                """
                "id" <= (SELECT "id" FROM "_roost_audit" WHERE "at" < \(at) ORDER BY "at" DESC LIMIT 1)
                    + \(Self.overlap)
                """)
        }
        let condition = conditions.isEmpty ? "TRUE" : conditions.joined(separator: " AND ")
        let limit = builder.bind(.int(Int64(query.limit)))
        let rows = try await store.query(
            Statement(
                """
                SELECT coalesce(jsonb_agg(to_jsonb(found) || jsonb_build_object('at',
                    to_char(found."at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) ORDER BY found."id" DESC), '[]')
                FROM (SELECT * FROM "_roost_audit" WHERE \(condition) ORDER BY "id" DESC LIMIT \(limit)::bigint) AS found
                """, builder.parameters))
        return rows.jsonb(0, 0).flatMap { try? JSONValue(parsing: $0) } ?? []
    }

    /// The entries that a query asks for, and the number before which the next ones are.
    ///
    /// - Throws: 102 for a time that is none.
    public func answer(_ query: JSONObject) async throws -> JSONObject {
        var wanted = AuditQuery()
        wanted.before = query["before"]?.numberValue.flatMap { Int(exactly: $0) }
        // Names may look like numbers.
        func text(_ name: Name) -> String? { query[name].map { $0.stringValue ?? $0.text } }
        wanted.operatorName = text("operator")
        wanted.className = text("className")
        wanted.objectId = text("objectId")
        wanted.method = text("method")
        func time(_ name: Name) throws(ParseError) -> ParseDate? {
            guard let given = text(name) else { return nil }
            guard let date = ParseDate(iso: given) else {
                throw ParseError(ParseError.invalidQuery, "\(name) is not a valid time.")
            }
            return date
        }
        wanted.from = try time("from")
        wanted.until = try time("until")
        let rows = try await list(wanted)
        var answer: JSONObject = ["rows": rows]
        if let list = rows.arrayValue, list.count == wanted.limit, let last = list.last?["id"] { answer["next"] = last }
        return answer
    }

    /// Removes entries that are older than so many days.
    public func sweep(days: Int) async throws {
        guard try await store.client.hasTable("_roost_audit") else { return }
        _ = try await store.query(
            Statement(
                "DELETE FROM \"_roost_audit\" WHERE \"at\" < now() - make_interval(days => $1::bigint::integer)",
                [.int(Int64(days))]))
    }
}
