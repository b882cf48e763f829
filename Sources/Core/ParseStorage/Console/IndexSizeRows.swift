import JSON
import ParseModel
import Postgres

/// The size and use of a class's index.
public struct IndexSize: Sendable {
    /// The name in the schemas API, or PostgreSQL's name if the class doesn't list the index.
    public let name: String
    /// The size in bytes, including all parts of the index.
    public var bytes: Int
    /// The number of scans of the index since PostgreSQL's statistics were reset.
    public var scans: Int
    public let isUnique: Bool
    /// Whether PostgreSQL can use the index. Incomplete builds are invalid.
    public var isValid: Bool
    /// Whether the index is one of Roost's or parse-server's own, or belongs to a constraint.
    public let isOwn: Bool
}

public struct IndexSizeRows: Sendable {
    let store: ObjectStore

    private static let listing = """
        SELECT i.relname::text, pg_relation_size(i.oid), coalesce(s.idx_scan, 0), x.indisunique, x.indisvalid, \
        \(ClassIndexes.isUsers)
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid \
        LEFT JOIN pg_stat_user_indexes s ON s.indexrelid = x.indexrelid \
        WHERE t.relname = ANY($1) AND pg_table_is_visible(t.oid) ORDER BY i.relname
        """

    /// Returns the indexes of a class and its relations, and when PostgreSQL's statistics were last reset, if ever.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable`.
    public func sizes(of schema: ClassSchema) async throws -> (indexes: [IndexSize], since: ParseDate?) {
        let tables = [schema.name] + schema.relations.map(\.table)
        let rows = try await store.convertingErrors {
            try await store.client.slowQuery(Statement(Self.listing, [.textArray(tables)]))
        }
        let since = try await store.convertingErrors {
            try await store.client.slowQuery(
                Statement("SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()"))
        }
        let known = schema.indexes.keys.map { IndexName(className: schema.name, name: $0.text) }
        var sizes: [IndexSize] = []
        for row in 0..<rows.rowCount {
            guard let stored = rows.string(row, 0) else { continue }
            let name = known.first { stored.hasSameBytes(as: $0.own) || stored.hasPrefix($0.prefix) }?.name
            let size = IndexSize(
                name: name ?? stored, bytes: Int(rows.int(row, 1) ?? 0), scans: Int(rows.int(row, 2) ?? 0),
                isUnique: rows.bool(row, 3) == true, isValid: rows.bool(row, 4) == true,
                isOwn: name == nil && (rows.bool(row, 5) != true || stored.hasPrefix("roost_")))
            if let place = sizes.firstIndex(where: { $0.name.hasSameBytes(as: size.name) }) {
                sizes[place].bytes += size.bytes
                sizes[place].scans += size.scans
                sizes[place].isValid = sizes[place].isValid && size.isValid
            } else {
                sizes.append(size)
            }
        }
        return (sizes, since.rowCount > 0 ? since.timestamp(0, 0).map(ParseDate.init(milliseconds:)) : nil)
    }
}
