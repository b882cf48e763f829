import JSON
import TestSupport
import Testing

/// Checks that parse-server can start on a database. Queries the catalog and all rows.
struct ParseServerLayout {
    let server: TestServer
    let location: SourceLocation

    static func expect(_ server: TestServer, location: SourceLocation = #_sourceLocation) async throws {
        let layout = ParseServerLayout(server: server, location: location)
        let classes = try await layout.schemaRows()
        try await layout.expectPlainTables(classes)
        try await layout.expectColumns(classes)
        try await layout.expectJoinTables(classes)
        layout.expectForms(classes)
        try await layout.expectValues(classes)
        try await layout.expectUsersAndSessions()
        try await layout.expectSingleRows()
        try await layout.expectFunctionsAndIndexes()
        try await layout.expectNoForeignNames(classes)
    }

    static let volatile: Set<String> = [
        "_Hooks", "_JobStatus", "_JobSchedule", "_PushStatus", "_GlobalConfig", "_GraphQLConfig", "_Audience",
        "_Idempotency",
    ]

    /// The SQL types of fields by Parse type. Relations have no column.
    private static let columnTypes: [String: String] = [
        "String": "text", "Pointer": "text", "File": "text", "Number": "double precision", "Boolean": "boolean",
        "Date": "timestamp with time zone", "Object": "jsonb", "Array": "jsonb", "Bytes": "jsonb", "GeoPoint": "point",
        "Polygon": "polygon",
    ]

    private static let hiddenUserColumns: [String: String] = [
        "_hashed_password": "text", "_email_verify_token": "text", "_perishable_token": "text",
        "_email_verify_token_expires_at": "timestamp with time zone",
        "_perishable_token_expires_at": "timestamp with time zone", "_password_changed_at": "timestamp with time zone",
        "_account_lockout_expires_at": "timestamp with time zone", "_failed_login_count": "double precision",
        "_password_history": "jsonb",
    ]

    private func rows(_ sql: String) async throws -> [[String?]] { try await server.rows(sql) }

    private func expectNone(_ sql: String, _ what: String) async throws {
        let found = try await rows(sql)
        #expect(found.isEmpty, "\(what): \(found)", sourceLocation: location)
    }

    private func schemaRows() async throws -> [String: JSONValue] {
        var classes: [String: JSONValue] = [:]
        for row in try await rows(
            "SELECT \"className\"::text, \"schema\"::text, \"isParseClass\"::text FROM \"_SCHEMA\"")
        {
            #expect(row[2] == "true", sourceLocation: location)
            classes[row[0] ?? ""] = try JSONValue(parsing: Array((row[1] ?? "").utf8))
        }
        for name in ["_User", "_Role", "_Session"] { #expect(classes[name] != nil, sourceLocation: location) }
        for name in Self.volatile { #expect(classes[name] == nil, "\(name)", sourceLocation: location) }
        return classes
    }

    /// Excludes Roost's internal tables, which parse-server ignores.
    private static let notOwn = "relname NOT LIKE '\\_roost\\_%'"

    /// Only primary keys are NOT NULL. Tables have no defaults, generated columns, further keys or triggers.
    private func expectPlainTables(_ classes: [String: JSONValue]) async throws {
        try await expectNone(
            """
            SELECT relname::text, attname::text FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
              AND \(Self.notOwn) AND (atthasdef OR attgenerated <> '' OR attidentity <> '' OR (attnotnull AND NOT EXISTS (
                SELECT FROM pg_index WHERE indrelid = attrelid AND indisprimary AND attnum = ANY (indkey))))
            """, "columns with rules")
        try await expectNone(
            """
            SELECT relname::text, conname::text FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
            WHERE connamespace = 'public'::regnamespace AND contype NOT IN ('p', 'n') AND \(Self.notOwn)
            """, "constraints")
        try await expectNone("SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal", "triggers")
        try await expectNone(
            """
            SELECT relname::text FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('r', 'i') AND \(Self.notOwn)
            """,
            "relations of other kinds")
        for name in classes.keys {
            let keys = try await rows(
                """
                SELECT attname::text FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
                WHERE indisprimary AND indrelid = '"\(name)"'::regclass
                """)
            #expect(keys == [["objectId"]], "\(name)", sourceLocation: location)
        }
    }

    private func columns(_ table: String) async throws -> [String: String] {
        let found = try await rows(
            """
            SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
            WHERE attrelid = '"\(table)"'::regclass AND attnum > 0 AND NOT attisdropped
            """)
        return Dictionary(uniqueKeysWithValues: found.map { ($0[0] ?? "", $0[1] ?? "") })
    }

    /// Every field of a class has a column of the right type, and no other columns exist.
    private func expectColumns(_ classes: [String: JSONValue]) async throws {
        for (name, row) in classes {
            var expected = ["_rperm": "text[]", "_wperm": "text[]"]
            if name == "_User" { expected.merge(Self.hiddenUserColumns) { $1 } }
            for (field, type) in row["fields"]?.objectValue ?? [:] where expected[field.text] == nil {
                if name == "_User", field == "password" { continue }
                if let column = Self.columnTypes[type["type"]?.stringValue ?? ""] { expected[field.text] = column }
            }
            #expect(try await columns(name) == expected, "\(name)", sourceLocation: location)
        }
    }

    private func expectJoinTables(_ classes: [String: JSONValue]) async throws {
        for (name, row) in classes {
            for (field, type) in row["fields"]?.objectValue ?? [:] where type["type"] == "Relation" {
                let table = "_Join:\(field):\(name)"
                #expect(
                    try await columns(table)
                        == ["relatedId": "character varying(120)", "owningId": "character varying(120)"],
                    "\(table)", sourceLocation: location)
                let key = try await rows(
                    """
                    SELECT pg_get_constraintdef(oid) FROM pg_constraint
                    WHERE contype = 'p' AND conrelid = '"\(table)"'::regclass
                    """)
                #expect(key == [["PRIMARY KEY (\"relatedId\", \"owningId\")"]], "\(table)", sourceLocation: location)
            }
        }
    }

    private static let permissionKeys: Set<String> = [
        "find", "get", "count", "create", "update", "delete", "addField", "readUserFields", "writeUserFields",
        "protectedFields", "ACL",
    ]

    /// The rows of `_SCHEMA` have one of the two formats that parse-server writes.
    private func expectForms(_ classes: [String: JSONValue]) {
        for (name, row) in classes {
            let keys = Set(row.objectValue?.keys.map { $0 } ?? [])
            #expect(
                keys.isSubset(of: ["className", "fields", "classLevelPermissions", "indexes"]), "\(name) \(keys)",
                sourceLocation: location)
            if let className = row["className"] {
                #expect(className == .string(name), sourceLocation: location)
            }
            let fields = row["fields"]?.objectValue ?? [:]
            for (field, type) in ["objectId": "String", "createdAt": "Date", "updatedAt": "Date"] {
                #expect(fields[field]?["type"] == .string(type), "\(name).\(field)", sourceLocation: location)
            }
            let isInternalForm = fields["ACL"] == nil
            #expect(
                (fields["_rperm"] == ["type": "Array", "contents": ["type": "String"]]) == isInternalForm, "\(name)",
                sourceLocation: location)
            #expect((fields["_wperm"] != nil) == isInternalForm, "\(name)", sourceLocation: location)
            if name == "_User" {
                #expect((fields["_hashed_password"] != nil) == isInternalForm, sourceLocation: location)
                #expect((fields["password"] == nil) == isInternalForm, sourceLocation: location)
            }
            for (operation, _) in row["classLevelPermissions"]?.objectValue ?? [:] {
                #expect(Self.permissionKeys.contains(operation.text), "\(name) \(operation)", sourceLocation: location)
            }
            if let indexes = row["indexes"] {
                #expect(indexes["_id_"] == ["_id": 1], "\(name)", sourceLocation: location)
            }
        }
    }

    /// Pointers are bare ids, files are bare names, arrays and objects are JSON of their type, and coordinates are in
    /// range.
    private func expectValues(_ classes: [String: JSONValue]) async throws {
        for (name, row) in classes {
            for (field, type) in row["fields"]?.objectValue ?? [:] {
                let broken: String
                switch type["type"]?.stringValue {
                case "Pointer": broken = "\"\(field)\" !~ '^[A-Za-z0-9]+$'"
                case "File": broken = "\"\(field)\" ~ '[{}/]'"
                case "Array" where !field.hasPrefix("_"): broken = "jsonb_typeof(\"\(field)\") <> 'array'"
                case "Object" where field != "authData": broken = "jsonb_typeof(\"\(field)\") <> 'object'"
                case "Bytes": broken = "\"\(field)\" ->> '__type' IS DISTINCT FROM 'Bytes' AND \"\(field)\" IS NOT NULL"
                case "GeoPoint": broken = "abs((\"\(field)\")[0]) > 180 OR abs((\"\(field)\")[1]) > 90"
                default: continue
                }
                try await expectNone(
                    "SELECT \"objectId\", \"\(field)\"::text FROM \"\(name)\" WHERE \(broken)", "\(name).\(field)")
            }
            try await expectNone(
                "SELECT \"objectId\" FROM \"\(name)\" WHERE \"createdAt\" IS NULL OR \"updatedAt\" IS NULL",
                "\(name) without dates")
        }
    }

    private func expectUsersAndSessions() async throws {
        try await expectNone(
            """
            SELECT "objectId", "_hashed_password" FROM "_User"
            WHERE "_hashed_password" !~ '^\\$2[ab]\\$[0-9]{2}\\$[./A-Za-z0-9]{53}$'
            """, "hashes")
        try await expectNone(
            "SELECT \"objectId\" FROM \"_User\" WHERE jsonb_typeof(\"authData\") <> 'object'", "login data")
        try await expectNone(
            "SELECT \"objectId\", \"sessionToken\" FROM \"_Session\" WHERE \"sessionToken\" !~ '^r:[0-9a-f]{32}$'",
            "session tokens")
        try await expectNone(
            "SELECT \"objectId\" FROM \"_Session\" WHERE \"expiresAt\" IS NULL OR jsonb_typeof(\"createdWith\") <> 'object'",
            "sessions")
    }

    private func expectSingleRows() async throws {
        for table in ["_GlobalConfig", "_GraphQLConfig"] {
            try await expectNone("SELECT \"objectId\" FROM \"\(table)\" WHERE \"objectId\" <> '1'", table)
        }
        try await expectNone(
            """
            SELECT "functionName", "className", "triggerName" FROM "_Hooks" GROUP BY 1, 2, 3
            HAVING count(*) > 1 OR (count("functionName") = 0 AND count("className") = 0)
            """, "hooks that are there more than once")
    }

    private func expectFunctionsAndIndexes() async throws {
        let functions = try await rows(
            """
            SELECT proname || '(' || pg_get_function_identity_arguments(oid) || ')' FROM pg_proc
            WHERE pronamespace = 'public'::regnamespace AND proname NOT LIKE 'roost%' ORDER BY 1
            """)
        let lists = "(\"array\" jsonb, \"values\" jsonb)"
        #expect(
            functions.map { $0[0] } == [
                "array_add" + lists, "array_add_unique" + lists, "array_contains" + lists, "array_contains_all" + lists,
                "array_contains_all_regex" + lists, "array_remove" + lists, "idempotency_delete_expired_records()",
                "json_object_set_key(json jsonb, key_to_set text, value_to_set anyelement)",
            ], sourceLocation: location)
        let indexes = Set(try await rows("SELECT indexname::text FROM pg_indexes").map { $0[0] ?? "" })
        for name in [
            "_User_unique_username", "_User_unique_email", "case_insensitive_username", "case_insensitive_email",
            "_Role_unique_name", "_Idempotency_unique_reqId", "ttl",
        ] { #expect(indexes.contains(name), "\(name)", sourceLocation: location) }
    }

    /// All other tables, in any schema, have names that parse-server can't mistake for classes.
    private func expectNoForeignNames(_ classes: [String: JSONValue]) async throws {
        let tables = try await rows(
            """
            SELECT table_schema::text, table_name::text FROM information_schema.tables
            WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
            """)
        for table in tables {
            let name = table[1] ?? ""
            let isKnown =
                table[0] == "public"
                && (name == "_SCHEMA" || name.hasPrefix("_Join:") || name.hasPrefix("_roost_")
                    || Self.volatile.contains(name) || classes[name] != nil)
            #expect(isKnown, "\(table)", sourceLocation: location)
        }
    }
}
