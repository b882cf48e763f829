import JSON
import ParseModel
import Postgres

/// Changes one class within a transaction.
struct SchemaChange {
    let current: ClassSchema?
    let wanted: ClassSchema
    let indexes: IndexChanges
    /// The number of shards of the table if the class is new and distributed.
    let shards: Int
    let session: PostgresSession

    /// Whether the class's `_SCHEMA` row changes.
    var isNeeded: Bool {
        current.map { TableLayout.schemaRow(of: $0) != TableLayout.schemaRow(of: wanted) } ?? true
    }

    /// Reads a class and locks its `_SCHEMA` row, if it has one. Returns nil if the class doesn't exist.
    static func read(_ className: String, _ session: PostgresSession) async throws -> ClassSchema? {
        if SystemClass.volatileNames.contains(Name(className)) { return ClassSchema(name: className) }
        let rows = try await session.query(
            "SELECT \"schema\" FROM \"_SCHEMA\" WHERE \"className\" = $1 FOR UPDATE", [.text(className)])
        guard rows.rowCount > 0, let bytes = rows.jsonb(0, 0) else { return nil }
        return TableLayout.schema(name: className, row: try JSONValue(parsing: bytes))
    }

    /// Whether a class is empty. Locks its table, so that it stays empty until the transaction ends.
    static func isEmpty(_ className: String, _ session: PostgresSession) async throws -> Bool {
        let table = SQL.identifier(className)
        let known = try await session.query("SELECT to_regclass($1) IS NOT NULL", [.text(table)])
        guard known.bool(0, 0) == true else { return true }
        let rows = try await session.group([
            Statement("LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE"),
            Statement("SELECT EXISTS (SELECT 1 FROM \(table))"),
        ])
        return rows.last?.bool(0, 0) == false
    }

    /// Drops the table, the join tables and the `_SCHEMA` row of a class.
    static func drop(_ className: String, _ current: ClassSchema?, _ session: PostgresSession) async throws {
        for (_, table) in current?.relations ?? [] {
            _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(table))")
        }
        _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(className))", [])
        _ = try await session.query("DELETE FROM \"_SCHEMA\" WHERE \"className\" = $1", [.text(className)])
    }

    /// Rejects too many fields and new names over 63 bytes, including target classes of pointers and relations, and the
    /// join tables of relations. PostgreSQL would truncate the names, so two could mean the same column.
    ///
    /// - Throws: 103 for a class, 105 for a field, 102 for too many fields.
    func checkLengths() throws(ParseError) {
        if wanted.fields.count > current?.fields.count ?? 0 {
            try HardLimits.check(wanted.fields.count, atMost: HardLimits.fields, "fields in a class")
        }
        guard current != nil || wanted.name.utf8.count <= 63 else {
            throw ParseError(
                ParseError.invalidClassName, "Invalid classname: \(wanted.name), it is longer than 63 bytes")
        }
        for (name, field) in wanted.fields where current?.fields[name] == nil {
            if let target = field.type.targetClass, target.utf8.count > 63 {
                throw ParseError(
                    ParseError.invalidClassName, "Invalid classname: \(AuditEntry.short(target.text))")
            }
            let stored =
                field.type.isRelation ? TableLayout.joinTable(field: name.text, className: wanted.name) : name.text
            guard stored.utf8.count <= 63 else {
                throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(name).")
            }
        }
    }

    /// Applies the change to the table, its columns, join tables and indexes, and to the `_SCHEMA` row.
    func apply() async throws {
        let table = SQL.identifier(wanted.name)
        if let current {
            let known = ClassIndexes(schema: current, session: session)
            for name in indexes.dropped { try await known.drop(name) }
        } else {
            try await createTable(table)
        }
        try await changeColumns(table)
        for (name, field) in wanted.fields
        where (field.type == .geoPoint || field.type == .polygon) && isNew(name.text, field) {
            // Geo searches start with a bounding box, which this index speeds up.
            _ = try await session.query(
                "CREATE INDEX IF NOT EXISTS \(SQL.identifier(IndexName.ofRoost("roost_geo:\(wanted.name):\(name)"))) ON \(table) "
                    + "USING gist (\(SQL.identifier(name.text)))", [])
        }
        let made = ClassIndexes(schema: wanted, session: session)
        for (name, fields) in indexes.made where wanted.indexes[name] != nil {
            try await made.make(name.text, fields.objectValue ?? [:])
        }
        _ = try await session.query(
            "INSERT INTO \"_SCHEMA\" (\"className\", \"schema\", \"isParseClass\") VALUES ($1, $2, true) "
                + "ON CONFLICT (\"className\") DO UPDATE SET \"schema\" = EXCLUDED.\"schema\"",
            [.text(wanted.name), .jsonb(TableLayout.schemaRow(of: wanted).serialized())])
    }

    /// Whether the field needs a new column or join table, because the field is new or its type changed.
    private func isNew(_ name: String, _ field: Field) -> Bool { current?.type(of: name) != field.type }

    private func createTable(_ table: String) async throws {
        let columns = DistributedTables.columns(of: wanted).joined(separator: ", ")
        try await clearName()
        _ = try await session.query("CREATE TABLE IF NOT EXISTS \(table) (\(columns))", [])
        // Nearly every list of every app is sorted by date, newest first, and paged.
        _ = try await session.query(
            "CREATE INDEX IF NOT EXISTS \(SQL.identifier(TableLayout.dateIndex(of: wanted.name))) ON \(table) "
                + "(\"createdAt\", \"objectId\")", [])
        try await distributed.place()
    }

    private var distributed: DistributedTables {
        DistributedTables(schema: wanted, shards: shards, session: session)
    }

    /// Renames an index of another class that has this class's name, because tables and indexes share a namespace.
    private func clearName() async throws {
        let rows = try await session.query(
            """
            SELECT t.relname::text FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
            JOIN pg_class t ON t.oid = i.indrelid WHERE c.oid = to_regclass($1) AND c.relkind = 'i'
            """, [.text(SQL.identifier(wanted.name))])
        guard let owner = rows.rowCount > 0 ? rows.string(0, 0) : nil else { return }
        let made = IndexName(className: owner, name: wanted.name).made(part: 0)
        _ = try await session.query(
            "ALTER INDEX \(SQL.identifier(wanted.name)) RENAME TO \(SQL.identifier(made))", [])
    }

    private func changeColumns(_ table: String) async throws {
        var changes: [String] = []
        var added: [Name: String] = [:]
        for (name, field) in current?.fields ?? [:] where wanted.type(of: name.text) != field.type {
            if field.type.isRelation {
                let join = TableLayout.joinTable(field: name.text, className: wanted.name)
                _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(join))", [])
            } else {
                changes.append("DROP COLUMN IF EXISTS \(SQL.identifier(name.text))")
            }
        }
        for (name, field) in wanted.fields where isNew(name.text, field) {
            if field.type.isRelation {
                for statement in JoinTable.statements(field: name.text, of: wanted) {
                    _ = try await session.query(statement)
                }
                try await distributed.place(
                    relation: TableLayout.joinTable(field: name.text, className: wanted.name))
            } else if let type = TableLayout.columnType(field.type),
                TableLayout.hasColumn(name.text, of: wanted.name, type: field.type)
            {
                changes.append("ADD COLUMN IF NOT EXISTS \(SQL.identifier(name.text)) \(type)")
                // Only new fields are checked: if a field's type changed, the same statement drops its old column.
                if current?.fields[name] == nil { added[name] = type }
            }
        }
        if !added.isEmpty { try await checkExisting(added, table) }
        if !changes.isEmpty {
            // A single ALTER TABLE locks the table only once. PostgreSQL drops columns before it adds any.
            _ = try await session.query("ALTER TABLE \(table) \(changes.joined(separator: ", "))", [])
        }
    }

    /// Checks that table columns that belong to no known field have types that new fields can use. Such columns were
    /// left by a field deletion that failed halfway, or created by hand.
    ///
    /// - Parameter columns: The new fields' SQL types, by column name.
    /// - Throws: 111 for a column of an incompatible type.
    private func checkExisting(_ columns: [Name: String], _ table: String) async throws {
        let rows = try await session.query(
            """
            SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
            WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attname::text = ANY($2)
            """, [.text(table), .textArray(columns.keys.map(\.text))])
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0), let known = rows.string(row, 1),
                let type = columns[Name(name)], known != type, !Self.alike[type, default: []].contains(known)
            else { continue }
            throw ParseError(
                ParseError.incorrectType,
                "schema mismatch for \(wanted.name).\(name); the table has a column of this name with the type \(known)"
            )
        }
    }

    /// Column types that are read and written like the wanted one.
    private static let alike: [String: Set<String>] = [
        "text": ["character varying", "citext"],
        "double precision": ["real", "smallint", "integer", "bigint"],
    ]
}

/// The table of a relation.
package enum JoinTable {
    /// Returns the statements that create the table and its index by owner.
    package static func statements(field: String, of schema: ClassSchema) -> [String] {
        let table = SQL.identifier(TableLayout.joinTable(field: field, className: schema.name))
        let type = DistributedTables.idType(of: schema)
        return [
            "CREATE TABLE IF NOT EXISTS \(table) (\"relatedId\" \(type), \"owningId\" \(type), "
                + "PRIMARY KEY (\"relatedId\", \"owningId\"))",
            index(field: field, className: schema.name),
        ]
    }

    /// Returns the statement for the index by owner, which parse-server doesn't create.
    package static func index(field: String, className: String, concurrently: Bool = false) -> String {
        let name = IndexName.ofRoost("roost_owner:\(field):\(className)")
        let table = SQL.identifier(TableLayout.joinTable(field: field, className: className))
        return "CREATE INDEX \(concurrently ? "CONCURRENTLY " : "")IF NOT EXISTS \(SQL.identifier(name)) ON \(table) "
            + "(\"owningId\")"
    }
}

struct IndexChanges {
    /// Names of dropped indexes, including those to be rebuilt.
    private(set) var dropped: [String] = []
    private(set) var made: JSONObject = [:]

    /// The primary key's entry. As in MongoDB, every class that ever got an index lists it.
    static let primary: Name = "_id_"

    /// Compares a class with its new version.
    ///
    /// Dropping a column drops its indexes. So an index on a deleted field is removed from `wanted`, and one on a field
    /// with a new type is rebuilt.
    init(from current: ClassSchema?, to wanted: inout ClassSchema) {
        let known = current?.indexes ?? [:]
        for (name, fields) in wanted.indexes where name != Self.primary {
            guard known[name] == fields else {
                if known[name] != nil { dropped.append(name.text) }
                made[name] = fields
                continue
            }
            var isLost = false
            var isChanged = false
            for key in IndexOptions.keys(of: fields.objectValue ?? [:]) {
                let field = current.map { IndexDefinition.field(key, of: $0) } ?? key
                guard let type = current?.type(of: field) else { continue }
                if wanted.fields[field] == nil { isLost = true }
                if wanted.type(of: field) != type { isChanged = true }
            }
            guard isChanged else { continue }
            dropped.append(name.text)
            if isLost { wanted.indexes[name] = nil } else { made[name] = fields }
        }
        for name in known.keys where name != Self.primary && wanted.indexes[name] == nil {
            // Compares bytes, because Swift treats canonically equivalent strings as equal.
            if !dropped.contains(where: { $0.hasSameBytes(as: name.text) }) { dropped.append(name.text) }
        }
    }
}
