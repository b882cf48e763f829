import JSON
import Logging
import OrderedCollections
import ParseModel
import Postgres
import Synchronization

/// The classes of the database: read once, kept in memory, changed in one place.
///
/// Changes made by other processes (parse-server's included) arrive by the channel `schema.change`, or are noticed when
/// a statement meets a column or table that it did not expect.
public final class SchemaCatalog: Sendable {
    private struct State {
        var snapshot: SchemaSnapshot
        /// Plans made for the snapshot, by what they were made of.
        var plans: [PlanKey: ReadPlan] = [:]
        /// Counts reloads, so that an answer read before a change never replaces what was learned after it.
        var version = 0
    }

    /// What a plan depends on besides the class.
    private struct PlanKey: Hashable {
        let className: String
        let keys: Set<String>?
        let excluded: Set<String>
        let hidden: Set<String>
    }

    /// The key of the advisory lock that schema changes of every Roost process take.
    private static let lockKey: Int64 = 0x526F_6F73_7453

    private let client: PostgresClient
    private let logger: Logger
    private let state: Mutex<State>
    /// Tells this process's notifications from those of others.
    public let senderId: String

    /// Makes a catalogue that knows nothing yet; call ``reload()`` first.
    public init(client: PostgresClient, senderId: String, refusesMixedMembership: Bool, logger: Logger) {
        self.client = client
        self.senderId = senderId
        self.logger = logger
        state = Mutex(
            State(snapshot: SchemaSnapshot(classes: [:], refusesMixedMembership: refusesMixedMembership)))
    }

    /// All classes as they are known now.
    public var snapshot: SchemaSnapshot { state.withLock { $0.snapshot } }

    /// One class, or nil when there is none.
    public func schema(_ name: String) -> ClassSchema? { state.withLock { $0.snapshot.classes[name] } }

    /// Counts the changes of the classes that this process learned of.
    public var version: Int { state.withLock { $0.version } }

    /// The plan that reads a class, made once for each set of wanted and hidden fields.
    func plan(_ schema: ClassSchema, keys: Set<String>? = nil, excluded: Set<String> = [], hidden: Set<String> = [])
        -> ReadPlan
    {
        let key = PlanKey(className: schema.name, keys: keys, excluded: excluded, hidden: hidden)
        // The class as it is at this version: the caller's may be older.
        let (known, current, version) = state.withLock {
            ($0.plans[key], $0.snapshot.classes[schema.name], $0.version)
        }
        if let known { return known }
        let plan = ReadPlan(current ?? schema, keys: keys, excluded: excluded, hidden: hidden)
        state.withLock {
            // A plan for a class that changed meanwhile is not kept, nor are endless combinations of keys.
            guard $0.version == version else { return }
            if $0.plans.count > 1000 { $0.plans.removeAll() }
            $0.plans[key] = plan
        }
        return plan
    }

    /// Reads all classes anew.
    public func reload() async throws {
        let before = state.withLock { $0.version }
        let result = try await client.query("SELECT \"className\", \"schema\" FROM \"_SCHEMA\"", [], readOnly: true)
        var classes: [String: ClassSchema] = [:]
        for name in SystemClass.volatileNames { classes[name] = ClassSchema(name: name) }
        for row in 0..<result.rowCount {
            guard let name = result.string(row, 0), let bytes = result.jsonb(row, 1),
                let json = try? JSONValue(parsing: bytes)
            else { continue }
            classes[name] = TableLayout.schema(name: name, row: json)
        }
        state.withLock {
            guard $0.version == before else { return }
            $0.snapshot.classes = classes
            $0.plans.removeAll()
            $0.version += 1
        }
    }

    /// Makes sure that a class exists and has fields, and gives it as it is then.
    ///
    /// Nothing is sent when the class is known to have them. Two writers adding the same field at once both succeed.
    /// - Throws: 111 when a field exists with another type.
    public func ensure(_ className: String, _ fields: OrderedDictionary<String, Field>) async throws -> ClassSchema {
        if let known = schema(className), try Self.missing(fields, in: known).isEmpty { return known }
        return try await change(className) { current in
            var schema = current ?? ClassSchema(name: className)
            for (name, field) in try Self.missing(fields, in: schema) { schema.fields[name] = field }
            return schema
        }
    }

    /// The fields that a class lacks.
    ///
    /// - Throws: 111 when it has one of them with another type.
    public static func missing(_ fields: OrderedDictionary<String, Field>, in schema: ClassSchema) throws(ParseError)
        -> OrderedDictionary<String, Field>
    {
        var missing: OrderedDictionary<String, Field> = [:]
        for (name, field) in fields {
            guard let known = schema.fields[name] else {
                missing[name] = field
                continue
            }
            guard known.type == field.type else {
                throw ParseError(
                    ParseError.incorrectType,
                    "schema mismatch for \(schema.name).\(name); expected \(known.type) but got \(field.type)")
            }
        }
        return missing
    }

    /// Changes a class in one transaction, under a lock that every Roost process takes.
    ///
    /// - Parameter edit: Gives the class as it should be from what it is (nil when it does not exist).
    @discardableResult
    public func change(_ className: String, _ edit: @escaping @Sendable (ClassSchema?) throws -> ClassSchema)
        async throws -> ClassSchema
    {
        let sender = senderId
        let changed = try await client.transaction { session in
            _ = try await session.query("SELECT pg_advisory_xact_lock($1)", [.int(Self.lockKey)])
            let current = try await Self.read(className, session)
            let wanted = try edit(current)
            try Self.checkLengths(from: current, to: wanted)
            try await Self.apply(from: current, to: wanted, session)
            _ = try await session.query(
                "SELECT pg_notify('schema.change', $1)", [.text("{\"senderId\":\"\(sender)\"}")])
            return wanted
        }
        state.withLock {
            $0.snapshot.classes[className] = changed
            $0.plans.removeAll()
            $0.version += 1
        }
        logger.info("schema changed", metadata: ["class": "\(className)"])
        return changed
    }

    /// Removes a class with its table and join tables.
    public func drop(_ className: String) async throws {
        let sender = senderId
        try await client.transaction { session in
            _ = try await session.query("SELECT pg_advisory_xact_lock($1)", [.int(Self.lockKey)])
            let current = try await Self.read(className, session)
            for (name, field) in current?.fields ?? [:] where field.type.isRelation {
                let table = TableLayout.joinTable(field: name, className: className)
                _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(table))", [])
            }
            _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(className))", [])
            _ = try await session.query("DELETE FROM \"_SCHEMA\" WHERE \"className\" = $1", [.text(className)])
            _ = try await session.query(
                "SELECT pg_notify('schema.change', $1)", [.text("{\"senderId\":\"\(sender)\"}")])
        }
        state.withLock {
            $0.snapshot.classes[className] = nil
            $0.plans.removeAll()
            $0.version += 1
        }
    }

    private static func read(_ className: String, _ session: PostgresSession) async throws -> ClassSchema? {
        if SystemClass.volatileNames.contains(className) { return ClassSchema(name: className) }
        let rows = try await session.query(
            "SELECT \"schema\" FROM \"_SCHEMA\" WHERE \"className\" = $1 FOR UPDATE", [.text(className)])
        guard rows.rowCount > 0, let bytes = rows.jsonb(0, 0) else { return nil }
        return TableLayout.schema(name: className, row: try JSONValue(parsing: bytes))
    }

    /// PostgreSQL cuts names at 63 bytes, so that two long ones could mean one column: new names are shorter.
    ///
    /// - Throws: 103 for a class, 105 for a field.
    private static func checkLengths(from current: ClassSchema?, to wanted: ClassSchema) throws(ParseError) {
        guard current != nil || wanted.name.utf8.count <= 63 else {
            throw ParseError(
                ParseError.invalidClassName, "Invalid classname: \(wanted.name), it is longer than 63 bytes")
        }
        for (name, field) in wanted.fields where current?.fields[name] == nil {
            let stored = field.type.isRelation ? TableLayout.joinTable(field: name, className: wanted.name) : name
            guard stored.utf8.count <= 63 else {
                throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(name).")
            }
        }
    }

    /// Makes the columns that a class's schema lists and its table lacks, as old servers left some.
    func repair(_ className: String) async throws {
        guard let schema = schema(className) else { return }
        let columns = TableLayout.columnDefinitions(of: schema).filter { !$0.hasSuffix("PRIMARY KEY") }
            .map { "ADD COLUMN IF NOT EXISTS \($0)" }
        logger.warning("columns that the schema lists are made", metadata: ["class": "\(className)"])
        _ = try await client.query(
            "ALTER TABLE IF EXISTS \(SQL.identifier(className)) \(columns.joined(separator: ", "))", [])
    }

    private static func apply(from current: ClassSchema?, to wanted: ClassSchema, _ session: PostgresSession)
        async throws
    {
        let table = SQL.identifier(wanted.name)
        let known = current ?? ClassSchema(name: wanted.name)
        var changes: [String] = []
        if current == nil {
            let columns = TableLayout.columnDefinitions(of: wanted).joined(separator: ", ")
            _ = try await session.query("CREATE TABLE IF NOT EXISTS \(table) (\(columns))", [])
            // Newest first, and paging by date, which is how nearly every list of every app is read.
            _ = try await session.query(
                "CREATE INDEX IF NOT EXISTS \(SQL.identifier(TableLayout.dateIndex(of: wanted.name))) ON \(table) "
                    + "(\"createdAt\", \"objectId\")", [])
        }
        for (name, field) in wanted.fields {
            if case .relation = field.type {
                if current == nil || known.fields[name] == nil {
                    for statement in joinTableStatements(field: name, className: wanted.name) {
                        _ = try await session.query(statement, [])
                    }
                }
                continue
            }
            guard TableLayout.hasColumn(name, of: wanted.name, type: field.type),
                let type = TableLayout.columnType(field.type), current == nil || known.fields[name] == nil
            else { continue }
            changes.append("ADD COLUMN IF NOT EXISTS \(SQL.identifier(name)) \(type)")
        }
        for (name, field) in known.fields where wanted.fields[name] == nil {
            if field.type.isRelation {
                let join = TableLayout.joinTable(field: name, className: wanted.name)
                _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(join))", [])
            } else {
                changes.append("DROP COLUMN IF EXISTS \(SQL.identifier(name))")
            }
        }
        if !changes.isEmpty {
            // One ALTER for all of them: the table is locked once.
            _ = try await session.query("ALTER TABLE \(table) \(changes.joined(separator: ", "))", [])
        }
        for (name, field) in wanted.fields where field.type == .geoPoint && known.fields[name] == nil {
            // Searches around a place begin with a box, which this index serves.
            _ = try await session.query(
                "CREATE INDEX IF NOT EXISTS \(SQL.identifier("roost_geo:\(wanted.name):\(name)")) ON \(table) "
                    + "USING gist (\(SQL.identifier(name)))", [])
        }
        _ = try await session.query(
            "INSERT INTO \"_SCHEMA\" (\"className\", \"schema\", \"isParseClass\") VALUES ($1, $2, true) "
                + "ON CONFLICT (\"className\") DO UPDATE SET \"schema\" = EXCLUDED.\"schema\"",
            [.text(wanted.name), .jsonb(TableLayout.schemaRow(of: wanted).serialized())])
        for (name, fields) in wanted.indexes where current?.indexes[name] == nil && name != "_id_" {
            let columns = (fields.objectValue ?? [:]).keys.map(SQL.identifier).joined(separator: ", ")
            _ = try await session.query(
                "CREATE INDEX IF NOT EXISTS \(SQL.identifier(name)) ON \(table) (\(columns))", [])
        }
        for name in current?.indexes.keys ?? [] where wanted.indexes[name] == nil && name != "_id_" {
            _ = try await session.query("DROP INDEX IF EXISTS \(SQL.identifier(name))", [])
        }
    }

    /// A join table, and the index by owner that parse-server does without.
    static func joinTableStatements(field: String, className: String) -> [String] {
        let table = TableLayout.joinTable(field: field, className: className)
        return [
            "CREATE TABLE IF NOT EXISTS \(SQL.identifier(table)) (\"relatedId\" varchar(120), "
                + "\"owningId\" varchar(120), PRIMARY KEY (\"relatedId\", \"owningId\"))",
            "CREATE INDEX IF NOT EXISTS \(SQL.identifier("roost_owner:\(field):\(className)")) "
                + "ON \(SQL.identifier(table)) (\"owningId\")",
        ]
    }
}
