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
        let refusal = try await ProcessLock.indexBuild.hold(client) { session in
            try await Task.sleep(for: Self.notice)
            // A pooler would hand a session with another limit to others.
            guard client.hasSessions else { return try await make(session) }
            return try await session.withoutTimeLimit { try await make(session) }
        }
        if let refusal { throw refusal }
    }

    /// - Returns: Why there are no such indexes; nil when they are made.
    private func make(_ session: PostgresSession) async throws -> ParseError? {
        do {
            try await change(session) {
                // Ends when all transactions have that wrote objects before they could know of the indexes.
                _ = try await session.query(
                    "LOCK TABLE \(SQL.identifier(schema.name)) IN SHARE ROW EXCLUSIVE MODE")
                // What a process left that did not hear of the end of an index with this name.
                try await UniqueRowsTable(session: session).remove(indexes.keys.texts, of: schema)
            }
            try await fill(session)
        } catch let error as PostgresError where DatabaseFailure.isStaleSchema(error) {
            guard let refusal = try await finish(session) else { throw error }
            return refusal
        }
        return try await finish(session)
    }

    private func fill(_ session: PostgresSession) async throws {
        let kinds = UniqueValues(indexes, of: schema).kinds
        var last: String? = ""
        while let start = last {
            let end = try await session.query(
                "SELECT \"objectId\" FROM \(SQL.identifier(schema.name)) WHERE \"objectId\" > $1 "
                    + "ORDER BY \"objectId\" LIMIT 1 OFFSET \(Self.piece)", [.text(start)])
            last = end.rowCount > 0 ? end.string(0, 0) : nil
            let range = [start, last].compactMap { $0 }
            let condition = "q.\"objectId\" > $1" + (range.count > 1 ? " AND q.\"objectId\" <= $2" : "")
            try await change(session) {
                for kind in kinds {
                    _ = try await session.query(
                        UniqueRowsTable.filling(kind, where: condition), range.map { .text($0) })
                }
            }
        }
    }

    /// Looks whether the indexes are still to be made, and each object has its row.
    private func finish(_ session: PostgresSession) async throws -> ParseError? {
        try await IndexBuild.transaction(client, session) { session in
            guard let current = try await SchemaChange.read(schema.name, session) else {
                return ParseError(ParseError.invalidClassName, "Class \(schema.name) does not exist.")
            }
            let table = UniqueRowsTable(session: session)
            let listed = Set(listed(in: current))
            let gone = indexes.keys.filter { !listed.contains($0) }
            guard let first = gone.first else { return try await table.check(indexes, of: schema) }
            try await table.remove(gone.filter { current.indexes[$0] == nil }.texts, of: schema)
            return ParseError(ParseError.invalidQuery, "Index \(first) does not exist any more.")
        }
    }

    /// Those of the indexes that a class has, and that are no others of the same names.
    func listed(in current: ClassSchema) -> [Name] {
        indexes.keys.filter { Self.sorted(current.indexes[$0] ?? .null) == Self.sorted(indexes[$0] ?? .null) }
    }

    /// A definition with the keys in one order: PostgreSQL has them in another than those who send them.
    private static func sorted(_ value: JSONValue) -> JSONValue {
        guard let object = value.objectValue else { return value }
        return .object(JSONObject(uniqueKeysWithValues: object.sorted { $0.key < $1.key }).mapValues(sorted))
    }

    /// Runs a transaction while no other changes rows of the class. It waits for them for moments only at first, as others
    /// wait behind it.
    private func change(_ session: PostgresSession, _ body: () async throws -> Void) async throws {
        var patience = 100
        try await IndexBuild.retrying(client, session) {
            defer { patience = min(patience * 2, 2000) }
            _ = try await session.group([
                Statement("SELECT set_config('lock_timeout', $1, true)", [.text("\(patience)")]),
                Statement(UniqueRowsTable.locking(schema.name)),
            ])
            try await body()
        }
    }
}
