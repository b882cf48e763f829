import JSON
import ParseModel
import Postgres

/// How many objects a class has.
public struct ClassCount: Sendable, Equatable {
    /// The class.
    public let className: String
    /// Its object count.
    public let objects: Int
    /// Whether that is an estimate.
    public let isEstimate: Bool
    /// How many bytes its table takes, long values included.
    public let bytes: Int
    /// How many bytes its indexes take.
    public let indexBytes: Int
}

/// Counts the objects of classes.
public struct ClassCountRows: Sendable {
    let store: ObjectStore

    /// How many objects classes have, in one statement. Classes without a table are left out.
    ///
    /// - Parameters:
    ///   - largest: Tables of more bytes are estimated.
    ///   - seconds: For how long tables are counted; the rest is estimated.
    public func counts(of classNames: [String], largest: Int64, seconds: Double) async throws -> [ClassCount] {
        let statement = Statement(
            "SELECT place, objects, estimated, bytes, index_bytes "
                + "FROM roost_class_counts($1, $2, make_interval(secs => $3))",
            [.textArray(classNames.map(SQLBuilder.quote)), .int(largest), .double(seconds)])
        do {
            let rows = try await store.client.slowQuery(statement)
            return (0..<rows.rowCount).compactMap { row in
                guard let place = rows.int(row, 0) else { return nil }
                return ClassCount(
                    className: classNames[Int(place) - 1], objects: Int(rows.int(row, 1) ?? 0),
                    isEstimate: rows.bool(row, 2) == true, bytes: Int(rows.int(row, 3) ?? 0),
                    indexBytes: Int(rows.int(row, 4) ?? 0))
            }
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }
}
