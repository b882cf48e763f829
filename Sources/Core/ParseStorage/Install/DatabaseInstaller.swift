public import JSON
import Logging
import OrderedCollections
import ParseModel
import Postgres
import Schema

/// Prepares a database: creates parse-server's tables, functions and indexes, plus Roost's own functions and indexes.
/// Replaces functions, but creates everything else only if it is missing. Several processes may start at once.
public struct DatabaseInstaller: Sendable {
    let client: PostgresClient
    let catalog: SchemaCatalog
    let logger: Logger

    public init(client: PostgresClient, catalog: SchemaCatalog, logger: Logger) {
        self.client = client
        self.catalog = catalog
        self.logger = logger
    }

    /// Transactions that retry for 30 seconds while a table is in use. By default, those of requests retry for less.
    private var patient: SchemaTransaction { SchemaTransaction(client: client, retryDuration: .seconds(30)) }

    /// Installs what is missing and loads the schema.
    ///
    /// - Parameter onlyLoads: Whether the caller only imports rows afterwards.
    /// - Throws: ``UnsupportedEncoding``, `PostgresError`, or an error if the option `distribution` doesn't fit.
    public func install(onlyLoads: Bool = false) async throws {
        let hasCitus = try await checkEncoding()
        try await DistributionCheck(distribution: catalog.distribution, client: client, onlyLoads: onlyLoads)
            .run(hasCitus: hasCitus)
        try await makeSchema()
        // Concurrent starts wait for each other, since creating the same function at once would fail.
        try await patient.retrying {
            try await client.execute(
                script: """
                    BEGIN;
                    SELECT pg_advisory_xact_lock(\(ProcessLock.schemaChange.key));
                    \(SchemaTransaction.scriptSetting)
                    CREATE TABLE IF NOT EXISTS "_SCHEMA" ("className" varchar(120) PRIMARY KEY, "schema" jsonb, "isParseClass" bool);
                    \(Self.volatileTables)
                    \(String(decoding: Schema.parseServerFunctions, as: UTF8.self))
                    \(String(decoding: Schema.functions, as: UTF8.self))
                    \(hasCitus ? Distribution.functions : "")
                    \(Self.idempotencyFunction)
                    COMMIT;
                    """)
        }
        try await catalog.reload()
        for name in ["_User", "_Role", "_Session", "_Installation"] where catalog.schema(name) == nil {
            try await catalog.change(name) { $0 ?? ClassSchema(name: name) }
        }
        for name in ["_User", "_Role", "_Session", "_Installation"] { try await complete(name) }
        try DistributionCheck.checkUnique(catalog.snapshot.classes.values)
        await create(Self.indexes)
    }

    /// Throws ``UnsupportedEncoding`` unless the encoding is UTF-8. Other encodings can't store all strings.
    ///
    /// - Returns: Whether the database has Citus's catalog.
    private func checkEncoding() async throws -> Bool {
        let facts = try await client.query(
            "SELECT current_setting('server_encoding'), to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL")
        let encoding = facts.string(0, 0) ?? ""
        if encoding != "UTF8" { throw UnsupportedEncoding(encoding: encoding) }
        return facts.bool(0, 1) == true
    }

    /// Creates the connection's schema if it is missing. If it exists, the role needn't be allowed to create schemas.
    private func makeSchema() async throws {
        guard let schema = client.schema else { return }
        let name = SQL.identifier(schema)
        // If the search path names a missing schema before an existing one, everything is created in the existing one.
        let isThere = try await client.query(
            "SELECT current_schema() IS NOT NULL OR to_regnamespace($1) IS NOT NULL", [.text(name)]
        ).bool(0, 0)
        if isThere == true { return }
        try await ProcessLock.schemaChange.make("CREATE SCHEMA IF NOT EXISTS \(name)", client)
        logger.notice("schema created", metadata: ["schema": "\(schema)"])
    }

    /// The error for a database whose encoding isn't UTF-8.
    public struct UnsupportedEncoding: Error, CustomStringConvertible {
        /// PostgreSQL's name of the encoding, such as `LATIN1`.
        public let encoding: String
        public var description: String {
            "the database encoding is \(encoding), but Roost requires UTF8. Create another with createdb --encoding=UTF8 "
                + "--template=template0, and copy the data with pg_dump and pg_restore"
        }
    }

    /// Adds the columns that a system class lacks because an older server created it.
    private func complete(_ name: String) async throws {
        guard let schema = catalog.schema(name) else { return }
        let rows = try await client.query(
            "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
            [.text(SQL.identifier(name))])
        let present = Set((0..<rows.rowCount).compactMap { rows.string($0, 0) })
        if TableLayout.columns(of: schema).contains(where: { !present.contains($0.name) }) {
            try await catalog.repair(name)
        }
    }

    /// Creates missing classes, fields and indexes from a list of definitions in parse-server's schema format.
    ///
    /// Permissions are set only on new classes and on a `_User` class without any, so that an administrator's changes
    /// are kept.
    public func define(_ definitions: [UInt8]) async throws {
        for definition in try JSONValue(parsing: definitions).arrayValue ?? [] {
            guard let name = definition["className"]?.stringValue else { continue }
            var fields: OrderedDictionary<Name, Field> = [:]
            for (field, json) in definition["fields"]?.objectValue ?? [:] { fields[field] = Field(json: json) }
            let permissions = definition["classLevelPermissions"]?.objectValue
            let indexes = definition["indexes"]?.objectValue ?? [:]
            let known = catalog.schema(name)
            let isComplete =
                try known.map { try $0.missing(fields).isEmpty } ?? false
                && indexes.keys.allSatisfy { known?.indexes[$0] != nil }
            if isComplete { continue }
            try await catalog.change(name) { [fields] current in
                var schema = current ?? ClassSchema(name: name)
                for (field, value) in try schema.missing(fields) { schema.fields[field] = value }
                if current == nil || (name == "_User" && schema.permissions == nil) {
                    schema.permissions = permissions.map(ClassLevelPermissions.init(json:)) ?? schema.permissions
                }
                for (index, columns) in indexes where schema.indexes[index] == nil { schema.indexes[index] = columns }
                if !indexes.isEmpty { schema.indexes["_id_"] = ["_id": 1] }
                return schema
            }
        }
    }

    private static var volatileTables: String {
        SystemClass.volatileNames.map { name in
            let schema = ClassSchema(name: name.text)
            let table = SQL.identifier(name.text)
            let names = TableLayout.columns(of: schema).map { SQL.literal($0.name) }.joined(separator: ", ")
            // An ALTER TABLE locks the table even if it changes nothing.
            return """
                CREATE TABLE IF NOT EXISTS \(table) (\(TableLayout.columnDefinitions(of: schema).joined(separator: ", ")));
                DO $$ BEGIN
                IF EXISTS (SELECT FROM unnest(ARRAY[\(names)]) c WHERE NOT EXISTS (
                    SELECT FROM pg_attribute WHERE attrelid = to_regclass(\(SQL.literal(table)))
                    AND attname = c AND NOT attisdropped)) THEN
                    ALTER TABLE \(table) \(TableLayout.missingColumns(of: schema));
                END IF;
                END $$;
                """
        }.joined(separator: "\n")
    }

    private static let idempotencyFunction = """
        CREATE OR REPLACE FUNCTION idempotency_delete_expired_records() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            DELETE FROM "_Idempotency" WHERE expire < now() - interval '300 seconds';
        END
        $$;
        """

    /// parse-server's indexes, then Roost's own, whose names begin with `roost_`.
    package static let indexes = [
        "CREATE UNIQUE INDEX IF NOT EXISTS \"_User_unique_username\" ON \"_User\" (\"username\")",
        "CREATE UNIQUE INDEX IF NOT EXISTS \"_User_unique_email\" ON \"_User\" (\"email\")",
        "CREATE INDEX IF NOT EXISTS \"case_insensitive_username\" ON \"_User\" (lower(\"username\") varchar_pattern_ops)",
        "CREATE INDEX IF NOT EXISTS \"case_insensitive_email\" ON \"_User\" (lower(\"email\") varchar_pattern_ops)",
        "CREATE INDEX IF NOT EXISTS \"_email_verify_token\" ON \"_User\" (\"_email_verify_token\")",
        "CREATE INDEX IF NOT EXISTS \"_perishable_token\" ON \"_User\" (\"_perishable_token\")",
        loginIndex(of: "anonymous"),
        "CREATE UNIQUE INDEX IF NOT EXISTS \"_Role_unique_name\" ON \"_Role\" (\"name\")",
        "CREATE UNIQUE INDEX IF NOT EXISTS \"_Idempotency_unique_reqId\" ON \"_Idempotency\" (\"reqId\")",
        "CREATE INDEX IF NOT EXISTS \"ttl\" ON \"_Idempotency\" (\"expire\")",
        "CREATE INDEX IF NOT EXISTS \"roost_folded_username\" ON \"_User\" (roost_fold(\"username\"))",
        "CREATE INDEX IF NOT EXISTS \"roost_folded_email\" ON \"_User\" (roost_fold(\"email\"))",
        "CREATE INDEX IF NOT EXISTS \"roost_verify_token\" ON \"_User\" (hashtextextended(\"_email_verify_token\", 0))",
        "CREATE INDEX IF NOT EXISTS \"roost_reset_token\" ON \"_User\" (hashtextextended(\"_perishable_token\", 0))",
        "CREATE INDEX IF NOT EXISTS \"roost_session_token\" ON \"_Session\" (\"sessionToken\")",
        "CREATE INDEX IF NOT EXISTS \"roost_session_user\" ON \"_Session\" (\"user\", \"installationId\")",
        "CREATE INDEX IF NOT EXISTS \"roost_installation_id\" ON \"_Installation\" (\"installationId\")",
        "CREATE INDEX IF NOT EXISTS \"roost_installation_token\" ON \"_Installation\" (\"deviceToken\")",
        "CREATE INDEX IF NOT EXISTS \"roost_owner:users:_Role\" ON \"_Join:users:_Role\" (\"owningId\")",
        "CREATE INDEX IF NOT EXISTS \"roost_owner:roles:_Role\" ON \"_Join:roles:_Role\" (\"owningId\")",
    ]

    /// Returns the statement for the index that makes a provider's login id unique and finds its user, as in
    /// parse-server 9.
    private static func loginIndex(of provider: Name) -> String {
        let id = "\"authData\"->\(SQL.literal(provider.text))->>'id'"
        return "CREATE UNIQUE INDEX IF NOT EXISTS "
            + "\(SQL.identifier("_User_unique_authData_\(provider)_id")) ON \"_User\" ((\(id))) WHERE (\(id)) IS NOT NULL"
    }

    /// Creates an index per login provider that allows each login id for one user only.
    public func indexLogins(of providers: [Name]) async {
        await create(providers.map { Self.loginIndex(of: $0) })
    }

    private func create(_ indexes: [String]) async {
        for statement in indexes {
            do {
                try await patient.run(statement)
            } catch {
                // Existing data may violate a unique index. The server works without it, as parse-server does.
                logger.warning(
                    "can't create an index, continuing", metadata: ["statement": "\(statement)", "error": "\(error)"])
            }
        }
    }
}
