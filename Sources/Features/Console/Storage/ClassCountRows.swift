internal import ParseStorage
internal import Postgres

/// The number of objects of a class, and its size.
package struct ClassCount: Sendable, Equatable {
    package let className: String
    package let objects: Int
    /// Whether `objects` is an estimate. Always true if the table is locked.
    package let isEstimate: Bool
    /// The size of the table in bytes, including out-of-line values if it isn't locked.
    package let bytes: Int
    /// The size of all indexes in bytes, or 0 if the table is locked.
    package let indexBytes: Int
}

package struct ClassCountRows: Sendable {
    let store: ObjectStore

    /// Counts the objects of classes in one statement. Classes without a table are left out. Tables that PostgreSQL has
    /// never vacuumed or analyzed can't be estimated, so they are counted unless they are locked.
    ///
    /// - Parameters:
    ///   - largest: The table size in bytes above which objects are estimated.
    ///   - seconds: The time limit for counting, after which the remaining classes are estimated.
    package func counts(of classNames: [String], largest: Int64, seconds: Double) async throws -> [ClassCount] {
        let statement = Statement(
            "SELECT place, objects, estimated, bytes, index_bytes "
                + "FROM roost_class_counts($1, $2, make_interval(secs => $3))",
            [.textArray(classNames.map(SQL.identifier)), .int(largest), .double(seconds)])
        return try await store.convertingErrors {
            let rows = try await store.client.slowQuery(statement)
            return (0..<rows.rowCount).compactMap { row in
                guard let place = rows.int(row, 0) else { return nil }
                return ClassCount(
                    className: classNames[Int(place) - 1], objects: Int(rows.int(row, 1) ?? 0),
                    isEstimate: rows.bool(row, 2) == true, bytes: Int(rows.int(row, 3) ?? 0),
                    indexBytes: Int(rows.int(row, 4) ?? 0))
            }
        }
    }
}
