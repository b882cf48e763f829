import JSON
import ParseModel
import Postgres

/// What makes names, mail addresses and ids of login providers unique where users lie on several servers, each of which
/// looks at its own: a row for each such value, on the server that the hash of the value names. A user's rows change in
/// the transaction that changes the user.
struct UniqueRows {
    let store: ObjectStore

    /// Whether objects of a class have such rows.
    static func areKept(of schema: ClassSchema) -> Bool { schema.name == "_User" && schema.distributedBy == "objectId" }

    /// Runs a statement that changes or removes one object, and changes its rows where its class has them.
    ///
    /// - Returns: What the statement gave.
    /// - Throws: `PostgresError`, 23505 for a value that another object has.
    func query(_ schema: ClassSchema, _ objectId: String, _ statement: Statement) async throws -> PostgresResult {
        guard Self.areKept(of: schema) else { return try await store.query(statement) }
        return try await store.change(
            schema, objectId, [Self.noting([objectId]), statement, Self.keeping([objectId])])[1]
    }

    /// Whether a write changes what the rows of an object hold.
    static func areChanged(_ schema: ClassSchema, by write: ObjectWrite) -> Bool {
        areKept(of: schema)
            && write.operations.keys.contains { fields.contains(Name(String($0.text.prefix { $0 != "." }))) }
    }

    private static let fields: Set<Name> = ["username", "email", "authData"]

    /// What comes before statements that change or remove objects.
    static func noting(_ objectIds: [String]) -> Statement {
        // In one order, so that two who change the same objects do not wait for each other.
        let ids = objectIds.names.sorted().texts
        return Statement("SELECT roost_note_unique($1)", [.textArray(ids)])
    }

    /// What comes after statements that make, change or remove objects.
    static func keeping(_ objectIds: [String]) -> Statement {
        Statement("SELECT roost_keep_unique($1)", [.textArray(objectIds)])
    }

    /// What comes after statements that make objects of any classes.
    func keeping(_ objects: [(className: String, objectId: String, write: ObjectWrite)]) -> [Statement] {
        guard store.catalog.distribution != nil, let schema = store.catalog.schema("_User"), Self.areKept(of: schema)
        else { return [] }
        let ids = objects.filter { $0.className == schema.name }.map(\.objectId)
        return ids.isEmpty ? [] : [Self.keeping(ids)]
    }

    /// What comes after a statement that removes many objects: rows that no object has go, once no change is under way of
    /// which the one is visible and the other is not yet.
    static let sweeping = [
        Statement("SELECT pg_advisory_xact_lock(4)"),
        Statement("DELETE FROM \"_roost_unique\" WHERE \"objectId\" NOT IN (SELECT \"objectId\" FROM \"_User\")"),
    ]

    /// The constraint that refuses a value that is there; the rest of its name is the number of a shard.
    private static let constraint = "_roost_unique_pkey"

    /// The index whose values a refused row would have held twice, as the error says: `Key (index, value)=(…, …)`.
    static func index(refusing error: PostgresError) -> String? {
        // What Citus hands on from another server names the constraint in the message alone.
        guard (error.constraint ?? error.message).contains(constraint), let detail = error.detail,
            let start = detail.firstRange(of: "=(")?.upperBound
        else { return nil }
        return String(detail[start...].prefix { $0 != "," })
    }

    /// The rows that there should be.
    static let expected = """
        SELECT n."index", n."value", u."objectId" FROM "_User" AS u \
        CROSS JOIN LATERAL roost_unique_values(u."username", u."email", u."authData") AS n
        """

    /// Puts all rows into an empty table; of two users with one value, one has it.
    static let filling =
        "INSERT INTO \"_roost_unique\" (\"index\", \"value\", \"objectId\") \(expected) ON CONFLICT DO NOTHING"

    /// Makes the table, with the rows of the users that are there, as part of a transaction.
    ///
    /// - Parameter shards: How many parts it has.
    /// - Throws: ``DistributionCheck/Unfit`` where two users have one value; `PostgresError`.
    static func prepare(shards: Int, _ session: PostgresSession) async throws {
        let isThere = try await session.query("SELECT to_regclass('\"_roost_unique\"') IS NOT NULL")
        guard isThere.bool(0, 0) != true else { return }
        _ = try await session.query("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)")
        let twice = try await session.query(
            "SELECT \"index\", \"value\" FROM (\(expected)) AS e GROUP BY 1, 2 HAVING count(*) > 1 LIMIT 1")
        if twice.rowCount > 0 {
            throw DistributionCheck.Unfit(
                description: "two users have one value of \(twice.string(0, 0) ?? ""): \(twice.string(0, 1) ?? "")")
        }
        for sql in [
            """
            CREATE TABLE "_roost_unique" ("index" text NOT NULL, "value" text NOT NULL, "objectId" text NOT NULL, \
            CONSTRAINT "\(constraint)" PRIMARY KEY ("index", "value"))
            """,
            """
            SELECT create_distributed_table('"_roost_unique"', 'value', shard_count => \(shards), colocate_with => 'none')
            """, filling,
        ] { _ = try await session.query(sql) }
    }
}
