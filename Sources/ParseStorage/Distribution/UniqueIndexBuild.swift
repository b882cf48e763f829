import JSON
import ParseModel
import Postgres

/// Making rows that keep objects apart which are there already, beside those who write.
///
/// The indexes are listed first: other processes hear of them, and keep the rows of what they write from then on. Rows of the
/// other objects are made in pieces; those who write wait for one of them at most. Two objects that got one value meanwhile
/// show at the end, by one row for both.
struct UniqueIndexBuild {
    let schema: ClassSchema
    /// The indexes by name.
    let indexes: JSONObject
    let client: PostgresClient

    /// How long other processes have to hear of the indexes.
    private static let notice = Duration.seconds(2)
    /// Of how many objects a transaction makes the rows.
    private static let piece = 2000

    /// Makes the rows.
    ///
    /// - Throws: 137 where two objects have one value; 102 or 103 when the indexes, or the class, went meanwhile;
    ///   `PostgresError`.
    func run() async throws {
        try await ProcessLock.indexBuild.hold(client) { _ in
            try await Task.sleep(for: Self.notice)
            try await change { session in
                // Ends when all transactions have that wrote objects before they could know of the indexes.
                _ = try await session.query(
                    "LOCK TABLE \(SQL.identifier(schema.name)) IN SHARE ROW EXCLUSIVE MODE")
                // What a process left that did not hear of the end of an index with this name.
                try await UniqueRowsTable(session: session).remove(indexes.keys.texts, of: schema)
            }
            do {
                try await fill()
            } catch let error as PostgresError where DatabaseFailure.isStaleSchema(error) {
                try await SchemaTransaction(client: client).run { try await checkListed($0) }
                throw error
            }
            try await SchemaTransaction(client: client).run { session in
                try await checkListed(session)
                try await UniqueRowsTable(session: session).check(indexes, of: schema)
            }
        }
    }

    private func checkListed(_ session: PostgresSession) async throws {
        guard let current = try await SchemaChange.read(schema.name, session) else {
            throw ParseError(ParseError.invalidClassName, "Class \(schema.name) does not exist.")
        }
        let listed = Set(listed(in: current))
        if let name = indexes.keys.first(where: { !listed.contains($0) }) {
            throw ParseError(ParseError.invalidQuery, "Index \(name) does not exist any more.")
        }
    }

    /// Those of the indexes that a class has, and that are no others of the same names.
    func listed(in current: ClassSchema) -> [Name] {
        indexes.keys.filter { name in
            func fields(_ definition: JSONValue?) -> Set<Name> {
                UniqueValues(definition.map { [name: $0] } ?? [:], of: schema).fields
            }
            return fields(current.indexes[name]) == fields(indexes[name])
        }
    }

    private func fill() async throws {
        let kinds = UniqueValues(indexes, of: schema).kinds
        var last: String? = ""
        while let start = last {
            let end = try await client.slowQuery(
                Statement(
                    "SELECT \"objectId\" FROM \(SQL.identifier(schema.name)) WHERE \"objectId\" > $1 "
                        + "ORDER BY \"objectId\" LIMIT 1 OFFSET \(Self.piece)", [.text(start)]))
            last = end.rowCount > 0 ? end.string(0, 0) : nil
            let range = [start, last].compactMap { $0 }
            try await change { session in
                for kind in kinds {
                    let condition = "q.\"objectId\" > $1" + (range.count > 1 ? " AND q.\"objectId\" <= $2" : "")
                    _ = try await session.query(
                        UniqueRowsTable.filling(kind, where: condition), range.map { .text($0) })
                }
            }
        }
    }

    /// Runs a transaction while no other changes rows of the class. It waits for them for moments only, as others wait
    /// behind it.
    private func change(_ body: @Sendable (PostgresSession) async throws -> Void) async throws {
        try await SchemaTransaction(client: client, retryDuration: .seconds(120)).retrying {
            try await client.transaction(purpose: .administration) { session in
                _ = try await session.group([
                    Statement("SELECT set_config('lock_timeout', '100', true)"),
                    Statement(UniqueRowsTable.locking(schema.name)),
                ])
                try await body(session)
            }
        }
    }
}
