import JSON
import ParseModel
import Postgres

/// A view of a class that an operator saved: which objects, in which order, with which columns.
public struct SavedView: Sendable {
    /// The id, which the page chose.
    public var id: String
    /// The class.
    public var className: String
    /// Its name.
    public var name: String
    /// Whether other operators have it as well.
    public var isShared: Bool
    /// Who saved it.
    public var owner: String
    /// `where`, `order` and `columns` as they were sent.
    public var content: JSONObject

    /// Puts a view together.
    public init(
        id: String, className: String, name: String, isShared: Bool, owner: String, content: JSONObject
    ) {
        self.id = id
        self.className = className
        self.name = name
        self.isShared = isShared
        self.owner = owner
        self.content = content
    }
}

/// Saved views of operators, in a table beside the classes that no route of the interface reads.
public struct ViewRows: Sendable {
    let store: ObjectStore

    /// An operator's own views, and those that others share, by class and name.
    public func list(for owner: String) async throws -> [SavedView] {
        let rows = try await asking(
            "SELECT \"id\", \"class\", \"name\", \"shared\", \"owner\", \"content\" FROM \"_roost_view\" "
                + "WHERE \"owner\" = $1 OR \"shared\" ORDER BY \"class\", \"name\", \"id\" LIMIT 5000", [owner])
        return (0..<rows.rowCount).map { row in
            let content = rows.string(row, 5).flatMap { try? JSONValue(parsing: Array($0.utf8)) }
            return SavedView(
                id: rows.string(row, 0) ?? "", className: rows.string(row, 1) ?? "", name: rows.string(row, 2) ?? "",
                isShared: rows.bool(row, 3) == true, owner: rows.string(row, 4) ?? "",
                content: content?.objectValue ?? [:])
        }
    }

    /// Saves a view, in the place of that of the same id where its owner has one; in the place of another one's, nothing
    /// is done.
    ///
    /// - Parameters:
    ///   - most: How many views an owner may have.
    ///   - mostBytes: How many bytes they may have in all.
    /// - Returns: Whether it is saved.
    public func put(_ view: SavedView, most: Int, mostBytes: Int) async throws -> Bool {
        let content = JSONValue.object(view.content).text
        return try await asking(
            """
            WITH _others AS MATERIALIZED (
                SELECT count(*) < \(most) AND coalesce(sum(octet_length("content")), 0) + octet_length($5) <= \(mostBytes)
                    AS _leave FROM "_roost_view" WHERE "owner" = $4 AND "id" <> $1)
            INSERT INTO "_roost_view" AS _view ("id", "class", "name", "shared", "owner", "content")
            SELECT $1, $2, $3, \(view.isShared), $4, $5 FROM _others WHERE _leave
            ON CONFLICT ("id") DO UPDATE SET "class" = excluded."class", "name" = excluded."name",
                "shared" = excluded."shared", "content" = excluded."content",
                "changed" = excluded."changed" WHERE _view."owner" = $4
            RETURNING 1
            """, [view.id, view.className, view.name, view.owner, content]
        ).rowCount > 0
    }

    /// Removes a view of an owner.
    ///
    /// - Returns: Whether there was one.
    public func remove(_ id: String, of owner: String) async throws -> Bool {
        try await asking("DELETE FROM \"_roost_view\" WHERE \"id\" = $1 AND \"owner\" = $2 RETURNING 1", [id, owner])
            .rowCount > 0
    }

    private func asking(_ sql: String, _ texts: [String]) async throws -> PostgresResult {
        let parameters = try texts.map { PostgresParameter.text(try ValueText.checked($0)) }
        do {
            return try await store.query(sql, parameters)
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }
}
