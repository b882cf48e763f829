import JSON
import ParseModel
import Postgres

/// The change of one class, inside the transaction that makes it.
struct SchemaChange {
    let current: ClassSchema?
    let wanted: ClassSchema
    let indexes: IndexChanges
    /// How many parts the rows of the class have if it is made, and distributed.
    let shards: Int
    let session: PostgresSession

    /// Whether there is anything to do.
    var isNeeded: Bool {
        current.map { TableLayout.schemaRow(of: $0) != TableLayout.schemaRow(of: wanted) } ?? true
    }

    /// A class as the database has it, or nil when there is none; its row is locked.
    static func read(_ className: String, _ session: PostgresSession) async throws -> ClassSchema? {
        if SystemClass.volatileNames.contains(Name(className)) { return ClassSchema(name: className) }
        let rows = try await session.query(
            "SELECT \"schema\" FROM \"_SCHEMA\" WHERE \"className\" = $1 FOR UPDATE", [.text(className)])
        guard rows.rowCount > 0, let bytes = rows.jsonb(0, 0) else { return nil }
        return TableLayout.schema(name: className, row: try JSONValue(parsing: bytes))
    }

    /// Whether a class is empty and stays so until the transaction ends.
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

    /// Drops a class with its table and join tables.
    static func drop(_ className: String, _ current: ClassSchema?, _ session: PostgresSession) async throws {
        for (name, field) in current?.fields ?? [:] where field.type.isRelation {
            let table = TableLayout.joinTable(field: name.text, className: className)
            _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(table))", [])
        }
        _ = try await session.query("DROP TABLE IF EXISTS \(SQL.identifier(className))", [])
        _ = try await session.query("DELETE FROM \"_SCHEMA\" WHERE \"className\" = $1", [.text(className)])
    }

    /// PostgreSQL cuts names at 63 bytes, so that two long ones could mean one column: new names are shorter, those of
    /// classes that pointers and relations lead to as well.
    ///
    /// - Throws: 103 for a class, 105 for a field, 102 for too many fields.
    func checkLengths() throws(ParseError) {
        if wanted.fields.count > current?.fields.count ?? 0 {
            try HardLimits.check(wanted.fields.count, atMost: HardLimits.fields, "fields of a class")
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

    /// Makes the table, its columns, join tables, indexes and row what they should be.
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
            // Searches around a place begin with a box, which this index serves.
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

    /// Whether a field's column or join table is still missing, as it is for another type.
    private func isNew(_ name: String, _ field: Field) -> Bool { current?.type(of: name) != field.type }

    private func createTable(_ table: String) async throws {
        let columns = DistributedTables.columns(of: wanted).joined(separator: ", ")
        try await clearName()
        _ = try await session.query("CREATE TABLE IF NOT EXISTS \(table) (\(columns))", [])
        // Newest first, and paging by date, which is how nearly every list of every app is read.
        _ = try await session.query(
            "CREATE INDEX IF NOT EXISTS \(SQL.identifier(TableLayout.dateIndex(of: wanted.name))) ON \(table) "
                + "(\"createdAt\", \"objectId\")", [])
        try await distributed.place()
    }

    private var distributed: DistributedTables {
        DistributedTables(schema: wanted, shards: shards, session: session)
    }

    /// Tables and indexes share names. An index of another class with this one's name is renamed.
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
                for statement in joinTableStatements(field: name.text) { _ = try await session.query(statement, []) }
                try await distributed.place(
                    relation: TableLayout.joinTable(field: name.text, className: wanted.name))
            } else if let type = TableLayout.columnType(field.type),
                TableLayout.hasColumn(name.text, of: wanted.name, type: field.type)
            {
                changes.append("ADD COLUMN IF NOT EXISTS \(SQL.identifier(name.text)) \(type)")
                // One that is dropped in the same change makes room.
                if current?.fields[name] == nil { added[name] = type }
            }
        }
        if !added.isEmpty { try await ExistingColumns(table: table, session: session).check(added, of: wanted.name) }
        if !changes.isEmpty {
            // One ALTER for all of them: the table is locked once. PostgreSQL drops before it adds.
            _ = try await session.query("ALTER TABLE \(table) \(changes.joined(separator: ", "))", [])
        }
    }

    /// A join table, with an index by owner that parse-server lacks.
    private func joinTableStatements(field: String) -> [String] {
        let table = TableLayout.joinTable(field: field, className: wanted.name)
        let type = DistributedTables.idType(of: wanted)
        return [
            "CREATE TABLE IF NOT EXISTS \(SQL.identifier(table)) (\"relatedId\" \(type), "
                + "\"owningId\" \(type), PRIMARY KEY (\"relatedId\", \"owningId\"))",
            "CREATE INDEX IF NOT EXISTS \(SQL.identifier(IndexName.ofRoost("roost_owner:\(field):\(wanted.name)"))) "
                + "ON \(SQL.identifier(table)) (\"owningId\")",
        ]
    }
}

/// Columns that a table has though no field of its class is known: left by a deletion of a field that failed half way,
/// or made by hand.
struct ExistingColumns {
    /// The table, quoted.
    let table: String
    let session: PostgresSession

    /// Checks that columns that are to be added can be read as what they are to hold, where they are there already.
    ///
    /// - Parameter columns: Their types as `CREATE TABLE` has them, by their names.
    /// - Throws: 111 for a column that holds something else.
    func check(_ columns: [Name: String], of className: String) async throws {
        let rows = try await session.query(
            """
            SELECT attname::text, format_type(atttypid, NULL) FROM pg_attribute
            WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attname::text = ANY($2)
            """, [.text(table), .textArray(columns.keys.map(\.text))])
        for row in 0..<rows.rowCount {
            guard let name = rows.string(row, 0), let known = rows.string(row, 1),
                let wanted = columns[Name(name)], known != wanted, !Self.alike[wanted, default: []].contains(known)
            else { continue }
            throw ParseError(
                ParseError.incorrectType,
                "schema mismatch for \(className).\(name); the table has a column of this name and of type \(known)")
        }
    }

    /// Types that are read and written like another.
    private static let alike: [String: Set<String>] = [
        "text": ["character varying", "citext"],
        "double precision": ["real", "smallint", "integer", "bigint"],
    ]
}

struct IndexChanges {
    /// Names of dropped indexes, including those to be rebuilt.
    private(set) var dropped: [String] = []
    private(set) var made: JSONObject = [:]

    /// What every class that ever got an index lists first, as MongoDB has it; it is the primary key.
    static let primary: Name = "_id_"

    /// Compares a class with what it will be.
    ///
    /// Columns take their indexes with them: an index on a field that goes is taken out of `wanted`, and one on a field
    /// that gets another type is made anew.
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
            // By their bytes: two indexes whose names look alike are two.
            if !dropped.contains(where: { $0.hasSameBytes(as: name.text) }) { dropped.append(name.text) }
        }
    }
}
