import JSON
import ParseModel
import Postgres

/// The trash of the console, in a table that no API route can read. It contains whole rows, including columns outside
/// the schema, and the relations that the objects own.
public struct TrashRows: Sendable {
    let store: ObjectStore

    public struct Entry: Sendable {
        public let id: String
        public let className: String
        public let objectId: String
        /// The operator who deleted the object.
        public let operatorName: String
        public let deletedAt: ParseDate
    }

    /// Returns whether deleted objects of a class can be restored. Ended sessions can't.
    package static func retains(_ className: String) -> Bool { !className.hasSameBytes(as: "_Session") }

    /// Moves an object to the trash in one statement.
    ///
    /// - Parameters:
    ///   - operatorName: The operator who deletes the object.
    ///   - wants: The parts of the change to return.
    /// - Returns: The id of the trash entry, and the former object if `wants` isn't empty, or nil if the object doesn't
    ///   exist or may not be deleted.
    public func move(
        _ className: String, _ objectId: String, access: ObjectStore.WriteAccess = ObjectStore.WriteAccess(),
        for operatorName: String, wants: ObjectStore.ChangeWants = []
    ) async throws -> (id: String, change: ObjectStore.ChangedObject?)? {
        guard !objectId.utf8.contains(0) else { return nil }
        let operatorName = try ValueText.checked(operatorName)
        return try await store.retryingStaleSchema {
            guard let schema = store.catalog.schema(className) else { return nil }
            let plan = store.catalog.plan(schema)
            var compiler = WriteCompiler(schema: schema)
            let condition = try ObjectStore.condition(access, schema, &compiler)
            let id = compiler.builder.bind(.text(objectId))
            let row = TrashedRow(schema: schema)
            let values = [className, operatorName].map { compiler.builder.bind(.text($0)) }
            let result = try await store.query(
                """
                WITH _gone AS (
                    DELETE FROM \(SQL.identifier(className)) WHERE "objectId" = \(id) AND \(condition)
                    RETURNING *, \(wants.numberSQL) AS _number),
                _read AS (
                    SELECT "objectId" AS _object, \(row.content) AS _row, \(row.relations(of: id, &compiler.builder)) AS _relations,
                        \(row.nulls(&compiler.builder)) AS _nulls
                    FROM _gone OFFSET 0),
                _kept AS (
                    INSERT INTO "_roost_trash" ("_class", "_object", "_operator", "_row", "_relations", "_nulls", "_bytes")
                    SELECT \(values[0]), _object, \(values[1]), _row, _relations, _nulls,
                        pg_column_size(_row) + coalesce(pg_column_size(_relations), 0) FROM _read
                    RETURNING "_id" AS _kept_id)
                SELECT \(plan.selectList), _number, _kept_id::text FROM _gone CROSS JOIN _kept
                """, compiler.builder.parameters)
            guard result.rowCount > 0, let id = result.string(0, result.columnCount - 1) else { return nil }
            guard !wants.isEmpty else { return (id, nil) }
            return (
                id,
                ObjectStore.ChangedObject(
                    className: className, objectId: objectId, number: result.int(0, result.columnCount - 2),
                    isWhole: true, result: result, plan: plan, formerRow: 0, currentRow: nil)
            )
        }
    }

    /// Returns entries of the trash, newest first.
    ///
    /// - Parameters:
    ///   - className: The class, or nil for all.
    ///   - objectId: The object id, or nil for all.
    ///   - limit: The maximum number of entries.
    public func list(className: String?, objectId: String?, limit: Int) async throws -> [Entry] {
        var builder = SQLBuilder()
        var conditions = ["TRUE"]
        for (column, value) in [("_class", className), ("_object", objectId)] {
            guard let value else { continue }
            guard !value.utf8.contains(0) else { return [] }
            conditions.append("\"\(column)\" = \(builder.bind(.text(value)))")
        }
        // A plain "_id" would mean the text in the SELECT list, which sorts 9 after 10.
        let order = "ORDER BY \"_roost_trash\".\"_id\" DESC LIMIT \(builder.bind(.int(Int64(limit))))"
        return try await entries("\(conditions.joined(separator: " AND ")) \(order)", builder.parameters)
    }

    /// Returns an entry of the trash, or nil if it doesn't exist. Within a transaction, this also locks the entry.
    public func entry(_ id: String) async throws -> Entry? {
        guard let number = Int64(id) else { return nil }
        return try await entries("\"_id\" = $1\(store.isInTransaction ? " FOR UPDATE" : "")", [.int(number)]).first
    }

    private func entries(_ condition: String, _ parameters: [PostgresParameter]) async throws -> [Entry] {
        try await store.convertingErrors {
            let rows = try await store.query(
                "SELECT \"_id\"::text, \"_class\", \"_object\", \"_operator\", \"_deleted\" FROM \"_roost_trash\" WHERE "
                    // Earlier versions retained sessions.
                    + "\"_class\" <> '_Session' AND \(condition)", parameters)
            return (0..<rows.rowCount).map { row in
                Entry(
                    id: rows.string(row, 0) ?? "", className: rows.string(row, 1) ?? "",
                    objectId: rows.string(row, 2) ?? "", operatorName: rows.string(row, 3) ?? "",
                    deletedAt: ParseDate(milliseconds: rows.timestamp(row, 4) ?? 0))
            }
        }
    }

    /// Returns trashed objects of one class in the format of finds, by entry id. Returns an empty result if a value no
    /// longer fits its column or the class no longer exists.
    ///
    /// - Parameters:
    ///   - shorten: The size in bytes above which values are shortened.
    ///   - without: Fields whose values are left out.
    ///   - hidden: Fields that the caller can't see.
    public func objects(
        _ ids: [String], of className: String, shorten: Int, links: FileLinks, without: Set<String> = [],
        hidden: Set<Name> = []
    ) async throws -> [Name: JSONObject] {
        guard let schema = store.catalog.schema(className) else { return [:] }
        let plan = ReadPlan(schema, hidden: hidden, shortening: Shortening(limit: shorten))
        let result: PostgresResult
        do {
            result = try await store.query(
                """
                SELECT \(plan.selectList), _kept."_id"::text FROM "_roost_trash" AS _kept
                CROSS JOIN LATERAL jsonb_populate_record(
                    \(TrashedRow.none(of: SQL.identifier(className))), _kept."_row" - $2)
                WHERE _kept."_id" IN (SELECT unnest($1)::bigint)
                """, [.textArray(ids), .textArray(without.sorted())], readOnly: true)
        } catch let error as PostgresError where error.sqlState.hasPrefix("22") || error.sqlState.hasPrefix("42") {
            return [:]
        } catch let error as PostgresError {
            throw store.failure(error)
        }
        let found = ObjectStore.Found(result: result, plan: plan, links: links)
        var objects: [Name: JSONObject] = [:]
        for (row, object) in try await found.objects.enumerated() {
            if let id = result.string(row, result.columnCount - 1) { objects[id] = object }
        }
        return objects
    }

    /// Returns the fields whose values no longer fit their types in the class.
    public func misfits(_ entry: Entry) async throws -> [String] {
        guard let number = Int64(entry.id), let schema = store.catalog.schema(entry.className) else { return [] }
        let table = SQL.identifier(schema.name)
        let (names, kinds) = TrashedRow(schema: schema).jsonKinds
        let row = "FROM \"_roost_trash\" WHERE \"_id\" = $1"
        return try await store.convertingErrors {
            // A jsonb column accepts any JSON type.
            let wrong = try await store.query(
                """
                SELECT ARRAY(SELECT _name FROM unnest($2::text[], $3::text[]) AS _column(_name, _kind)
                    WHERE jsonb_typeof("_row" -> _name) NOT IN (_kind, 'null')) \(row)
                """, [.int(number), .textArray(names), .textArray(kinds)])
            var found = Set(wrong.rowCount > 0 ? wrong.textArray(0, 0) ?? [] : [])
            let fits = { (value: String, parameters: [PostgresParameter]) async throws -> Bool in
                do {
                    _ = try await store.query(
                        "SELECT jsonb_populate_record(\(TrashedRow.none(of: table)), \(value))::text \(row)",
                        [.int(number)] + parameters)
                    return true
                } catch let error as PostgresError where error.sqlState.hasPrefix("22") {
                    return false
                }
            }
            let isWhole = try await fits("\"_row\"", [])
            if !isWhole {
                for name in schema.fields.keys.texts {
                    let isFitting = try await fits("jsonb_build_object($2::text, \"_row\" -> $2::text)", [.text(name)])
                    if !isFitting { found.insert(name) }
                }
            }
            return found.sorted()
        }
    }

    /// Restores an object with its relations and removes it from the trash. Must run in a transaction.
    ///
    /// - Parameters:
    ///   - without: Fields whose values are left out.
    ///   - wants: The parts of the change to return.
    /// - Returns: The object if `wants` isn't empty, and the fields whose values weren't restored.
    /// - Throws: 101 if the entry no longer exists, 103 if the class no longer exists, or 137, 202, 203 or 208 if the
    ///   id or another unique value is in use.
    public func restore(
        _ entry: Entry, without: Set<String> = [], wants: ObjectStore.ChangeWants = []
    ) async throws -> (change: ObjectStore.ChangedObject?, dropped: [String]) {
        guard let number = Int64(entry.id) else { throw ParseError.notFound }
        return try await store.retryingStaleSchema {
            guard let schema = store.catalog.schema(entry.className) else {
                throw ParseError(ParseError.invalidClassName, "Class \(entry.className) no longer exists.")
            }
            let (plan, table) = (store.catalog.plan(schema), SQL.identifier(schema.name))
            var builder = SQLBuilder()
            let id = builder.bind(.int(number))
            let left = builder.bind(.textArray(without.sorted()))
            var parts = [
                // Citus can't delete local rows in a statement that inserts into a distributed table.
                "_kept AS (SELECT * FROM \"_roost_trash\" WHERE \"_id\" = \(id))",
                "_back AS (INSERT INTO \(table) SELECT _new.* FROM _kept, "
                    + "LATERAL jsonb_populate_record(NULL::\(table), _kept.\"_row\" - \(left)) AS _new RETURNING *, \(wants.numberSQL) AS _number)",
            ]
            parts += TrashedRow(schema: schema).restoredRelations(&builder)
            let result = try await store.query(
                "WITH \(parts.joined(separator: ", ")) SELECT \(plan.selectList), _number, "
                    + "_kept.\"_nulls\", \(TrashedRow(schema: schema).lost(&builder)) FROM _kept CROSS JOIN _back",
                builder.parameters)
            guard result.rowCount > 0 else { throw ParseError.notFound }
            _ = try await store.query("DELETE FROM \"_roost_trash\" WHERE \"_id\" = $1", [.int(number)])
            let dropped = without.union(result.textArray(0, result.columnCount - 1) ?? []).sorted()
            let jsonNames = TrashedRow(schema: schema).jsonKinds.names
            let nulls = (result.textArray(0, result.columnCount - 2) ?? []).filter { jsonNames.contains($0) }
            if !nulls.isEmpty {
                let assignments = nulls.map { "\(SQL.identifier($0)) = 'null'" }.joined(separator: ", ")
                _ = try await store.query(
                    "UPDATE \(table) SET \(assignments) WHERE \"objectId\" = $1", [.text(entry.objectId)])
            }
            guard !wants.isEmpty else { return (nil, dropped) }
            return (
                ObjectStore.ChangedObject(
                    className: schema.name, objectId: entry.objectId, number: result.int(0, result.columnCount - 3),
                    isWhole: true, result: result, plan: plan, formerRow: nil, currentRow: 0), dropped
            )
        }
    }

    /// Deletes entries older than `days` days and all sessions, which earlier versions retained. Then deletes the
    /// oldest entries until the trash is within `maxBytes`.
    public func sweep(days: Int, maxBytes: Int64) async throws {
        guard try await store.client.hasTable("_roost_trash") else { return }
        _ = try await store.client.query(
            """
            DELETE FROM "_roost_trash"
            WHERE "_deleted" < now() - make_interval(days => $1::bigint::int) OR "_class" = '_Session'
            """,
            [.int(Int64(days))])
        _ = try await store.client.query(
            """
            DELETE FROM "_roost_trash" WHERE "_id" <= (
                SELECT max("_id") FROM (
                    SELECT "_id", sum("_bytes") OVER (ORDER BY "_id" DESC) AS _total FROM "_roost_trash") AS _sum
                WHERE _total > $1)
            """, [.int(maxBytes)])
    }
}
