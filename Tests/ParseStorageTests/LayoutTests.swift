import JSON
import OrderedCollections
import ParseModel
import ParseStorage
import Postgres
import Testing

@Suite("Database layout compatible with parse-server")
struct LayoutTests {
    /// A table's columns with their types, by PostgreSQL's names.
    private static func columns(_ table: String, _ test: TestStore) async throws -> [String: String] {
        let rows = try await test.client.query(
            "SELECT attname::text, format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END "
                + "|| CASE WHEN atthasdef THEN ' DEFAULT' ELSE '' END FROM pg_attribute "
                + "WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped",
            [.text(SQL.identifier(table))])
        var columns: [String: String] = [:]
        for row in 0..<rows.rowCount { columns[rows.string(row, 0) ?? ""] = rows.string(row, 1) }
        return columns
    }

    private static let dates = ["createdAt": "timestamp with time zone", "updatedAt": "timestamp with time zone"]
    private static let lists = ["_rperm": "text[]", "_wperm": "text[]"]
    private static let key = ["objectId": "text NOT NULL"]

    private static func table(_ parts: [String: String]...) -> [String: String] {
        parts.reduce(into: [:]) { $0.merge($1) { $1 } }
    }

    private static func each(_ type: String, _ names: String...) -> [String: String] {
        Dictionary(uniqueKeysWithValues: names.map { ($0, type) })
    }

    @Test("Tables of volatile classes have parse-server's columns")
    func volatileTables() async throws {
        try await TestStore.run { test in
            let whole = Self.table(Self.key, Self.dates, Self.lists)
            let expected: [String: [String: String]] = [
                "_SCHEMA": [
                    "className": "character varying(120) NOT NULL", "schema": "jsonb", "isParseClass": "boolean",
                ],
                "_Hooks": Self.each("text", "functionName", "className", "triggerName", "url"),
                "_GlobalConfig": Self.table(Self.key, Self.each("jsonb", "params", "masterKeyOnly")),
                "_GraphQLConfig": Self.table(Self.key, Self.each("jsonb", "config")),
                "_Audience": Self.table(
                    whole, Self.each("text", "name", "query"),
                    ["lastUsed": "timestamp with time zone", "timesUsed": "double precision"]),
                "_Idempotency": Self.table(whole, ["reqId": "text", "expire": "timestamp with time zone"]),
                "_JobStatus": Self.table(
                    whole, Self.each("text", "jobName", "source", "status", "message"),
                    ["params": "jsonb", "finishedAt": "timestamp with time zone"]),
                "_JobSchedule": Self.table(
                    whole, Self.each("text", "jobName", "description", "params", "startAfter", "timeOfDay"),
                    ["daysOfWeek": "jsonb"], Self.each("double precision", "lastRun", "repeatMinutes")),
                "_PushStatus": Self.table(
                    whole, Self.each("text", "pushTime", "source", "query", "payload", "title", "status", "pushHash"),
                    Self.each("double precision", "expiry", "expiration_interval", "numSent", "numFailed", "count"),
                    Self.each(
                        "jsonb", "errorMessage", "sentPerType", "failedPerType", "sentPerUTCOffset",
                        "failedPerUTCOffset")),
            ]
            for (table, columns) in expected {
                let found = try await Self.columns(table, test)
                #expect(found == columns, "\(table)")
            }
        }
    }

    @Test("_User has hidden columns but no password, and _SCHEMA lists only the password hash")
    func users() async throws {
        try await TestStore.run { test in
            let expected = Self.table(
                Self.key, Self.dates, Self.lists,
                Self.each(
                    "text", "username", "email", "_hashed_password", "_email_verify_token", "_perishable_token"),
                ["emailVerified": "boolean", "_failed_login_count": "double precision"],
                Self.each("jsonb", "authData", "_password_history"),
                Self.each(
                    "timestamp with time zone", "_email_verify_token_expires_at", "_perishable_token_expires_at",
                    "_password_changed_at", "_account_lockout_expires_at"))
            #expect(try await Self.columns("_User", test) == expected)
            let fields = try await Self.schemaRow("_User", test)["fields"]?.objectValue ?? [:]
            #expect(
                Set(fields.keys) == [
                    "objectId", "createdAt", "updatedAt", "username", "email", "emailVerified", "authData",
                    "_hashed_password", "_rperm", "_wperm",
                ])
            #expect(fields["_hashed_password"] == ["type": "String"])
            #expect(fields["authData"] == ["type": "Object"])
        }
    }

    @Test("A class has a column of the right type for each field, and join tables for relations")
    func classes() async throws {
        try await TestStore.run { test in
            _ = try await test.store.ensure(
                "Game Score",
                [
                    "s": Field(.string), "n": Field(.number), "b": Field(.boolean), "d": Field(.date),
                    "o": Field(.object),
                    "l": Field(.array), "y": Field(.bytes), "p": Field(.pointer("_User")), "f": Field(.file),
                    "g": Field(.geoPoint), "q": Field(.polygon), "r": Field(.relation("_User")),
                ])
            #expect(
                try await Self.columns("Game Score", test)
                    == Self.table(
                        Self.key, Self.dates, Self.lists, Self.each("text", "s", "p", "f"),
                        ["n": "double precision", "b": "boolean", "d": "timestamp with time zone"],
                        Self.each("jsonb", "o", "l", "y"), ["g": "point", "q": "polygon"]))
            let join = ["relatedId": "character varying(120) NOT NULL", "owningId": "character varying(120) NOT NULL"]
            #expect(try await Self.columns("_Join:r:Game Score", test) == join)
            #expect(try await Self.columns("_Join:users:_Role", test) == join)
            #expect(try await Self.columns("_Join:roles:_Role", test) == join)
            let constraints = try await test.client.query(
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ($1::text::regclass, $2::text::regclass) "
                    + "ORDER BY 1", [.text("\"Game Score\""), .text("\"_Join:r:Game Score\"")])
            #expect(
                (0..<constraints.rowCount).map { constraints.string($0, 0) } == [
                    "PRIMARY KEY (\"objectId\")", "PRIMARY KEY (\"relatedId\", \"owningId\")",
                ])
            let row = try await Self.schemaRow("Game Score", test)
            #expect(row["className"] == "Game Score")
            #expect(row["classLevelPermissions"] == nil)
            #expect(row["indexes"] == nil)
            let fields = row["fields"]?.objectValue ?? [:]
            #expect(fields["ACL"] == nil)
            #expect(fields["p"]?["targetClass"] == "_User")
            #expect(fields["r"]?["type"] == "Relation")
            #expect(fields["_rperm"]?["type"] == "Array")
            #expect(fields["_rperm"]?["contents"] == ["type": "String"])
            #expect(fields["objectId"] == ["type": "String"])
        }
    }

    @Test("Creates parse-server's indexes and functions, and no triggers or foreign keys")
    func indexesAndFunctions() async throws {
        try await TestStore.run { test in
            let rows = try await test.client.query(
                "SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'public'")
            var indexes: [String: String] = [:]
            for row in 0..<rows.rowCount { indexes[rows.string(row, 0) ?? ""] = rows.string(row, 1) }
            for name in [
                "_User_unique_username", "_User_unique_email", "_Role_unique_name", "_Idempotency_unique_reqId",
            ] {
                #expect(indexes[name]?.hasPrefix("CREATE UNIQUE INDEX") == true, "\(name)")
            }
            for name in ["case_insensitive_username", "case_insensitive_email"] {
                #expect(indexes[name]?.contains("lower(") == true, "\(name)")
                #expect(indexes[name]?.contains("varchar_pattern_ops") == true, "\(name)")
            }
            #expect(indexes["ttl"]?.contains("expire") == true)
            for call in [
                "SELECT json_object_set_key('{\"a\":1}'::jsonb, 'b', 2)",
                "SELECT array_add('[1,1]'::jsonb, '[2]'::jsonb)",
                "SELECT array_add_unique('[1]'::jsonb, '[1,2]'::jsonb)",
                "SELECT array_remove('[1,2]'::jsonb, '[1]'::jsonb)",
                "SELECT array_contains('[1,2]'::jsonb, '[1]'::jsonb)",
                "SELECT array_contains_all('[1,2]'::jsonb, '[1]'::jsonb)",
                "SELECT array_contains_all_regex('[\"ab\"]'::jsonb, '[\"a%\"]'::jsonb)",
                "SELECT idempotency_delete_expired_records()",
            ] {
                #expect(try await test.client.query(call).rowCount == 1, "\(call)")
            }
            let extras = try await test.client.query(
                "SELECT (SELECT count(*) FROM pg_trigger), (SELECT count(*) FROM pg_constraint WHERE contype = 'f')")
            #expect(extras.int(0, 0) == 0)
            #expect(extras.int(0, 1) == 0)
        }
    }

    @Test("Removing a field or a class removes its columns, join tables and _SCHEMA row")
    func removal() async throws {
        try await TestStore.run { test in
            _ = try await test.store.ensure(
                "C", ["a": Field(.string), "b": Field(.number), "r": Field(.relation("C"))])
            try await test.catalog.change("C") { current in
                var schema = try #require(current)
                schema.fields["a"] = nil
                schema.fields["r"] = nil
                return schema
            }
            #expect(
                try await Self.columns("C", test)
                    == Self.table(Self.key, Self.dates, Self.lists, ["b": "double precision"]))
            #expect(try await Self.schemaRow("C", test)["fields"]?["a"] == nil)
            let joins = "SELECT count(*) FROM pg_class WHERE relname = '_Join:r:C'"
            #expect(try await test.client.query(joins).int(0, 0) == 0)
            try await test.catalog.drop("C")
            #expect(test.catalog.schema("C") == nil)
            let left = try await test.client.query(
                "SELECT (SELECT count(*) FROM pg_class WHERE relname = 'C'), "
                    + "(SELECT count(*) FROM \"_SCHEMA\" WHERE \"className\" = 'C')")
            #expect(left.int(0, 0) == 0)
            #expect(left.int(0, 1) == 0)
        }
    }

    @Test("Preparing the mail table doesn't wait for a transaction that reads it")
    func mails() async throws {
        try await TestStore.run { test in
            let mails = test.store.mails
            try await mails.prepare()
            let column = try await Self.columns("_roost_mail", test)["since"]
            #expect(column == "timestamp with time zone NOT NULL DEFAULT")
            try await test.client.transaction(retries: 0, purpose: .administration) { session in
                _ = try await session.query("SELECT count(*) FROM \"_roost_mail\"")
                try await mails.prepare()
            }
        }
    }

    static func schemaRow(_ name: String, _ test: TestStore) async throws -> JSONObject {
        let rows = try await test.client.query(
            "SELECT \"schema\", \"isParseClass\" FROM \"_SCHEMA\" WHERE \"className\" = $1", [.text(name)])
        #expect(rows.bool(0, 1) == true)
        return try JSONValue(parsing: rows.jsonb(0, 0) ?? []).objectValue ?? [:]
    }
}
