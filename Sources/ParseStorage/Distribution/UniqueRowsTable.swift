import JSON
import ParseModel
import Postgres

/// The table of the rows that make values unique, in a session that changes it. Beside the rows of values it has one of each
/// index whose rows are all there, which has no value and no owner.
struct UniqueRowsTable {
    let session: PostgresSession

    private static let insertion = "INSERT INTO \"_roost_unique\" (\"class\", \"index\", \"value\", \"owner\")"

    /// Makes the rows of objects, of two with one value for one.
    ///
    /// - Parameter condition: On the objects' ids.
    static func filling(_ kind: UniqueValues.Kind, where condition: String = "TRUE") -> String {
        "\(insertion) SELECT \"class\", \"index\", \"value\", \"owner\" FROM (\(kind.query)) AS q WHERE \(condition) "
            + "ON CONFLICT DO NOTHING"
    }

    /// Keeps those who write from changing rows of a class until the transaction ends.
    static func locking(_ className: String) -> String {
        "SELECT pg_advisory_xact_lock(hashtextextended(\(SQL.literal(className)), 4))"
    }

    /// Makes the table where there is none.
    ///
    /// - Parameter shards: How many parts it has.
    func make(shards: Int) async throws {
        // One of an unfinished version had other columns.
        let isThere = try await session.query(
            """
            SELECT FROM pg_attribute WHERE attrelid = to_regclass('"_roost_unique"') AND attname = 'owner'
            """)
        guard isThere.rowCount == 0 else { return }
        for sql in [
            "DROP TABLE IF EXISTS \"_roost_unique\"",
            """
            CREATE TABLE "_roost_unique" ("class" text NOT NULL, "index" text NOT NULL, "value" text NOT NULL, \
            "owner" text NOT NULL, PRIMARY KEY ("class", "index", "value"))
            """,
            """
            SELECT create_distributed_table('"_roost_unique"', 'value', shard_count => \(shards), colocate_with => 'none')
            """,
        ] { _ = try await session.query(sql) }
    }

    /// Removes the rows of all classes but some.
    func removeOthers(than classes: [String]) async throws {
        _ = try await session.query(
            "DELETE FROM \"_roost_unique\" WHERE \"class\" <> ALL ($1)", [.textArray(classes)])
    }

    /// Makes the rows of users who were there when they were spread.
    ///
    /// - Throws: ``DistributionCheck/Unfit`` where two users have one value; `PostgresError`.
    func fillUsers() async throws {
        let kind = UniqueValues.ofUsers
        let isFilled = try await session.query(
            "SELECT 1 FROM \"_roost_unique\" WHERE \"class\" = '_User' AND starts_with(\"index\", $1) LIMIT 1",
            [.text(kind.name)])
        guard isFilled.rowCount == 0 else { return }
        let twice = try await session.query(
            "SELECT \"index\", \"value\" FROM (\(kind.query)) AS q GROUP BY 1, 2 HAVING count(*) > 1 LIMIT 1")
        if twice.rowCount > 0 {
            throw DistributionCheck.Unfit(
                description: "two users have one value of \(twice.string(0, 0) ?? ""): \(twice.string(0, 1) ?? "")")
        }
        _ = try await session.query(Self.filling(kind))
    }

    /// Removes the rows of indexes.
    func remove(_ indexes: [String], of schema: ClassSchema) async throws {
        _ = try await session.query(
            "DELETE FROM \"_roost_unique\" WHERE \"class\" = $1 AND \"index\" = ANY ($2)",
            [.text(schema.name), .textArray(indexes.map { UniqueValues.index($0, of: schema) })])
    }

    /// Removes the rows of a class that is dropped.
    func remove(class className: String) async throws {
        _ = try await session.query("DELETE FROM \"_roost_unique\" WHERE \"class\" = $1", [.text(className)])
    }

    /// Notes that all rows of indexes are there.
    func finish(_ indexes: JSONObject, of schema: ClassSchema) async throws {
        for name in indexes.keys {
            _ = try await session.query(
                "\(Self.insertion) VALUES ($1, $2, '', '') ON CONFLICT DO NOTHING",
                [.text(schema.name), .text(UniqueValues.index(name.text, of: schema))])
        }
    }

    /// Notes that all rows of indexes are there, if each object has its own.
    ///
    /// - Returns: 137 where two objects have one value.
    func check(_ indexes: JSONObject, of schema: ClassSchema) async throws -> ParseError? {
        _ = try await session.query(Self.locking(schema.name))
        for kind in UniqueValues(indexes, of: schema).kinds {
            let rows = try await session.query(
                "SELECT (SELECT count(*) FROM (\(kind.query)) AS q) = "
                    + "(SELECT count(*) FROM \"_roost_unique\" WHERE \"class\" = $1 AND \"index\" = $2)",
                [.text(schema.name), .text(kind.index ?? "")])
            guard rows.bool(0, 0) == true else { return DatabaseFailure.duplicateValue }
        }
        try await finish(indexes, of: schema)
        return nil
    }
}
