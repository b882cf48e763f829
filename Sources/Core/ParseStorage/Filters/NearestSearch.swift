import Limits
import ParseModel
import Postgres
import Synchronization

/// A find for the nearest objects without a maximum distance. PostgreSQL would have to compute the distance of every
/// row.
///
/// If that is slow, the search uses circles of increasing radius, for which the field's index helps, until a circle
/// contains enough rows. The result is exact, since all rows outside the circle are farther away.
package struct NearestSearch {
    private let filter: Filter
    /// The number of rows that completes the search.
    let limit: Int

    /// The radius of the first circle: 10 km, in radians.
    private static let firstRadius = 10 / 6371.0
    private static let growth = 4.0
    /// The time after which a search without circles counts as slow.
    static let patience = Duration.milliseconds(200)

    /// The radii to try, in radians. Circles are smaller than a hemisphere.
    static var radii: some Sequence<Double> {
        sequence(first: firstRadius) { $0 * growth }.prefix { $0 < .pi / 2 }
    }

    /// Returns nil for a different kind of search, for a regular expression, or if circles could change the result.
    package init?(_ request: ObjectStore.FindRequest) {
        guard let limit = request.limit, limit > 0, request.order.isEmpty, !request.wantsCount,
            request.keys?.contains("$score") != true,
            Self.nearnesses(in: request.filter) == 1, Self.nearnesses(in: request.access.filter) == 0,
            !request.filter.cost.hasPattern, Self.narrowed(request.filter, to: Self.firstRadius) != nil
        else { return nil }
        filter = request.filter
        self.limit = limit
    }

    /// Returns the filter, restricted to a circle.
    func filter(within radius: Double) -> Filter { Self.narrowed(filter, to: radius) ?? filter }

    /// Runs the search with or without circles.
    ///
    /// - Parameters:
    ///   - plain: The statement without a circle.
    ///   - history: The methods that suited earlier searches.
    ///   - circle: Returns the statement for a radius.
    ///   - read: Runs a statement with an optional time limit.
    package func run(
        _ plain: Statement, _ history: NearestHistory, circle: (Double) throws -> Statement,
        read: (Statement, Duration?) async throws -> PostgresResult
    ) async throws -> PostgresResult {
        switch history.manner(of: plain.sql) {
        case .plain: return try await read(plain, nil)
        case .circles: break
        case nil:
            do {
                let result = try await read(plain, Self.patience)
                history.record(.plain, of: plain.sql)
                return result
            } catch let error as PostgresError where error.kind == .server && error.sqlState == "57014" {
                history.record(.circles, of: plain.sql)
            }
        }
        for radius in Self.radii {
            let result = try await read(try circle(radius), nil)
            if result.rowCount >= limit { return result }
        }
        // If reading all matching rows was fast, later searches don't use circles. If it was slow, they still do, since
        // other locations may have rows nearby.
        let begin = ContinuousClock.now
        let result = try await read(plain, nil)
        if ContinuousClock.now - begin < Self.patience { history.record(.plain, of: plain.sql) }
        return result
    }

    /// Restricts the filter to a circle. Returns nil unless the filter requires a `near` condition with a center on
    /// Earth and without a maximum distance.
    private static func narrowed(_ filter: Filter, to radius: Double) -> Filter? {
        switch filter {
        case .field(let path, .near(let center, radians: nil)):
            return center.isOnEarth ? .field(path, .near(center, radians: radius)) : nil
        case .all(var parts):
            for (index, part) in parts.enumerated() {
                guard let part = narrowed(part, to: radius) else { continue }
                parts[index] = part
                return .all(parts)
            }
            return nil
        case .any, .none, .field, .related: return nil
        }
    }

    /// Counts `near` conditions, including those of inner queries.
    private static func nearnesses(in filter: Filter) -> Int {
        var count = 0
        filter.visitLeaves { leaf in
            guard case .field(_, let constraint) = leaf else { return }
            switch constraint {
            case .near: count += 1
            case .inQuery(let query), .notInQuery(let query): count += nearnesses(in: query.filter)
            default: break
            }
        }
        return count
    }
}

/// The method that suits each nearest-objects search, by statement text.
///
/// The size is limited: the least recently used entry is evicted, and its search is measured again.
package final class NearestHistory: Sendable {
    enum Manner {
        /// Computes the distance of every row.
        case plain
        case circles
    }

    private typealias Entry = (manner: Manner, recordedAt: ContinuousClock.Instant)

    /// The maximum total size of the remembered statements in bytes. Each counts as its length plus 64 bytes.
    private static let capacity = 256 * 1024
    /// The lifetime of a `.plain` entry. The class may have grown since, so the search is timed again.
    private static let memoryOfPlain = Duration.seconds(60)

    private let entries = Mutex(BoundedTable<String, Entry>(capacity: capacity))

    package init() {}

    /// Returns the method for a statement, or nil if it must be measured.
    func manner(of statement: String) -> Manner? {
        guard let entry = entries.withLock({ $0.value(of: statement) }) else { return nil }
        if entry.manner == .plain, entry.recordedAt.duration(to: .now) > Self.memoryOfPlain { return nil }
        return entry.manner
    }

    func record(_ manner: Manner, of statement: String) {
        entries.withLock { _ = $0.set((manner, .now), for: statement, weight: statement.utf8.count + 64) }
    }
}
