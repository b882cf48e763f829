import JSON
import ParseModel
import Postgres

/// The table of the rows that make values unique, in a session that makes it or fills it.
struct UniqueRowsTable {
    let session: PostgresSession

    /// Puts all rows of a class into it; of two objects with one value, one has it.
    static func filling(_ values: UniqueValues) -> [String] {
        values.queries.map { "\(insertion) \($0) ON CONFLICT DO NOTHING" }
    }

    private static let insertion = "INSERT INTO \"_roost_unique\" (\"class\", \"index\", \"value\", \"objectId\")"

    /// Makes the table, removes the rows of classes that need none any more, and makes those of others that have none.
    ///
    /// - Parameters:
    ///   - classes: All that need rows.
    ///   - shards: How many parts the table has.
    /// - Throws: ``DistributionCheck/Unfit`` where two objects have one value; `PostgresError`.
    func prepare(for classes: [ClassSchema], shards: Int) async throws {
        _ = try await session.query("SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)")
        let isThere = try await session.query("SELECT to_regclass('\"_roost_unique\"') IS NOT NULL")
        if isThere.bool(0, 0) != true { try await make(shards: shards) }
        _ = try await session.query(
            "DELETE FROM \"_roost_unique\" WHERE \"class\" <> ALL ($1)", [.textArray(classes.map(\.name))])
        for schema in classes {
            guard let values = UniqueValues(schema), try await isEmpty(schema) else { continue }
            for query in values.queries { try await checkUnique(query) }
            for statement in Self.filling(values) { _ = try await session.query(statement) }
        }
    }

    private func make(shards: Int) async throws {
        _ = try await session.query(
            """
            CREATE TABLE "_roost_unique" ("class" text NOT NULL, "index" text NOT NULL, "value" text NOT NULL, \
            "objectId" text NOT NULL, CONSTRAINT "\(UniqueRows.constraint)" PRIMARY KEY ("class", "index", "value"))
            """)
        _ = try await session.query(
            """
            SELECT create_distributed_table('"_roost_unique"', 'value', shard_count => \(shards), colocate_with => 'none')
            """)
    }

    private func isEmpty(_ schema: ClassSchema) async throws -> Bool {
        try await session.query(
            "SELECT 1 FROM \"_roost_unique\" WHERE \"class\" = $1 LIMIT 1", [.text(schema.name)]
        ).rowCount == 0
    }

    private func checkUnique(_ query: String) async throws {
        let twice = try await session.query(
            "SELECT \"class\", \"index\", \"value\" FROM (\(query)) AS e GROUP BY 1, 2, 3 HAVING count(*) > 1 LIMIT 1")
        guard twice.rowCount > 0 else { return }
        let (className, index) = (twice.string(0, 0) ?? "", twice.string(0, 1) ?? "")
        throw DistributionCheck.Unfit(
            description: "two objects of \(className) have one value of \(index): \(twice.string(0, 2) ?? "")")
    }

    /// Removes the rows of indexes that are dropped.
    func remove(_ indexes: [String], of schema: ClassSchema) async throws {
        _ = try await session.query(
            "DELETE FROM \"_roost_unique\" WHERE \"class\" = $1 AND \"index\" = ANY ($2)",
            [.text(schema.name), .textArray(indexes)])
    }

    /// Removes the rows of a class that is dropped.
    func remove(class className: String) async throws {
        _ = try await session.query("DELETE FROM \"_roost_unique\" WHERE \"class\" = $1", [.text(className)])
    }

    /// Makes the rows of indexes of objects that are there, while no object changes.
    ///
    /// - Throws: `PostgresError` 23505 where two objects have one value.
    func fill(_ indexes: JSONObject, of schema: ClassSchema) async throws {
        _ = try await session.query("LOCK TABLE \(SQL.identifier(schema.name)) IN SHARE ROW EXCLUSIVE MODE")
        try await remove(indexes.keys.texts, of: schema)
        for query in UniqueValues(indexes, of: schema).queries {
            _ = try await session.query("\(Self.insertion) \(query)")
        }
    }
}
