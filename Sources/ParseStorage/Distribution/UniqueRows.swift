import JSON
import ParseModel
import Postgres

/// What makes values unique of objects that lie on several servers: a row for each such value, on the server that the hash
/// of the value names. An object's rows change in the transaction that changes the object.
struct UniqueRows {
    let store: ObjectStore

    /// Runs a statement that changes or removes one object, and changes its rows where its class has them.
    ///
    /// - Returns: What the statement gave.
    /// - Throws: `PostgresError`, 23505 for a value that another object has.
    func query(_ schema: ClassSchema, _ objectId: String, _ statement: Statement) async throws -> PostgresResult {
        guard let values = UniqueValues(schema) else { return try await store.query(statement) }
        let before = try await noting(values, [objectId], schema)
        let results = try await store.change(
            schema, objectId, before + [statement, Self.keeping(values, [objectId], schema)])
        return results[before.count]
    }

    /// Whether a write changes what the rows of an object hold. Every write changes when it was.
    static func areChanged(_ schema: ClassSchema, by write: ObjectWrite) -> Bool {
        guard let fields = UniqueValues(schema)?.fields else { return false }
        return fields.contains("updatedAt")
            || write.operations.keys.contains { fields.contains(Name(String($0.text.prefix { $0 != "." }))) }
    }

    /// What comes before statements that change or remove objects: other writers of them wait until all servers have what
    /// the transaction did. Rows come first, as with all who lock them.
    func noting(_ values: UniqueValues, _ objectIds: [String], _ schema: ClassSchema) async throws -> [Statement] {
        // In one order, so that two who change the same objects do not wait for each other.
        let ids = objectIds.names.sorted().texts
        let rows = ids.map {
            ObjectStore.LockedRow(className: schema.name, objectId: $0, access: ObjectStore.WriteAccess())
        }
        return try await DistributedObjects(store: store).locks(rows, schema) + [
            Statement("SELECT roost_note_unique($1, $2)", [.textArray(values.queries), .textArray(ids)])
        ]
    }

    /// What comes after statements that make, change or remove objects.
    static func keeping(_ values: UniqueValues, _ objectIds: [String], _ schema: ClassSchema) -> Statement {
        Statement(
            "SELECT roost_keep_unique($1, $2, $3)",
            [.text(schema.name), .textArray(values.queries), .textArray(objectIds)])
    }

    /// What comes after statements that make objects of any classes.
    func keeping(_ objects: [(className: String, objectId: String, write: ObjectWrite)]) -> [Statement] {
        guard store.catalog.distribution != nil else { return [] }
        let ids = Dictionary(grouping: objects) { Name($0.className) }
        return ids.sorted { $0.key < $1.key }.compactMap { className, objects in
            guard let schema = store.catalog.schema(className.text), let values = UniqueValues(schema) else {
                return nil
            }
            return Self.keeping(values, objects.map(\.objectId), schema)
        }
    }

    /// What comes after a statement that removes many objects: rows that no object has go, once no change is under way of
    /// which the one is visible and the other is not yet.
    static func sweeping(_ schema: ClassSchema) -> [Statement] {
        [
            Statement(UniqueRowsTable.locking(schema.name)),
            Statement(
                "DELETE FROM \"_roost_unique\" WHERE \"class\" = $1 AND \"owner\" <> '' "
                    + "AND \"owner\" NOT IN (SELECT \(UniqueValues.owner(schema)) FROM \(SQLBuilder.quote(schema.name)))",
                [.text(schema.name)]),
        ]
    }

    /// The index whose values a refused row would have held twice; nil for other refusals.
    static func index(refusing error: PostgresError) -> String? {
        error.constraint?.hasSameBytes(as: "_roost_unique") == true ? error.detail : nil
    }
}
