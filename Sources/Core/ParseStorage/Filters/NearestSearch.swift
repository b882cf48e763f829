import ParseModel
import Postgres
import Synchronization
import Tasks

/// A find of the nearest objects without a largest distance, which PostgreSQL answers by the distance of every row.
///
/// Where that takes long, the find is asked within a circle, which the index of the field serves, and the circle grows
/// until it holds as many rows as are wanted. The answer is exact: all rows within the last circle were looked at, and
/// every row outside is farther away.
package struct NearestSearch {
    private let filter: Filter
    /// How many rows make a whole page.
    let limit: Int

    /// The radius of the first circle: 10 km, in radians.
    private static let firstRadius = 10 / 6371.0
    /// Ratio of each circle's radius to the previous one's.
    private static let growth = 4.0
    /// How long the statement without a circle may take before the class counts as large.
    static let patience = Duration.milliseconds(200)

    /// The radii to try, in radians: those of circles that are smaller than half the earth.
    static var radii: some Sequence<Double> {
        sequence(first: firstRadius) { $0 * growth }.prefix { $0 < .pi / 2 }
    }

    /// Nil for a find that is no such search, or cannot be narrowed without another answer.
    package init?(_ request: ObjectStore.FindRequest) {
        guard let limit = request.limit, limit > 0, request.order.isEmpty, !request.wantsCount,
            request.keys?.contains("$score") != true,
            Self.nearnesses(in: request.filter) == 1, Self.nearnesses(in: request.access.filter) == 0,
            !request.filter.cost.hasPattern, Self.narrowed(request.filter, to: Self.firstRadius) != nil
        else { return nil }
        filter = request.filter
        self.limit = limit
    }

    /// The condition, for rows within a circle only.
    func filter(within radius: Double) -> Filter { Self.narrowed(filter, to: radius) ?? filter }

    /// Runs the search in the manner that suits its class.
    ///
    /// - Parameters:
    ///   - plain: The statement without a circle.
    ///   - history: What earlier searches like it found out.
    ///   - circle: Gives the statement for a radius.
    ///   - read: Runs a statement, for so long at most.
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
                history.note(.plain, of: plain.sql)
                return result
            } catch let error as PostgresError where error.kind == .server && error.sqlState == "57014" {
                history.note(.circles, of: plain.sql)
            }
        }
        for radius in Self.radii {
            let result = try await read(try circle(radius), nil)
            if result.rowCount >= limit { return result }
        }
        // Where so few rows match that all of them are read quickly, circles are a detour. A place that is far from all
        // is none: the next search may be for another.
        let begin = ContinuousClock.now
        let result = try await read(plain, nil)
        if ContinuousClock.now - begin < Self.patience { history.note(.plain, of: plain.sql) }
        return result
    }

    /// The filter with its nearness bounded by a radius, or nil if a match need not be near, or circles can't handle
    /// the place or the distance.
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

    /// Counts nearness conditions, inner queries included. The last one decides the order.
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

/// In which manner searches for the nearest objects are best done, by the text of their statements.
///
/// It is bounded: what was used longest ago is forgotten, and found out anew.
package final class NearestHistory: Sendable {
    enum Manner {
        /// By the distance of every row.
        case plain
        case circles
    }

    private struct Entry {
        let manner: Manner
        let notedAt: ContinuousClock.Instant
    }

    /// Bytes of remembered statements.
    private static let capacity = 256 * 1024
    /// How long a class counts as small: it may grow.
    private static let memoryOfPlain = Duration.seconds(60)

    private let entries = Mutex(BoundedTable<String, Entry>(capacity: capacity))

    package init() {}

    /// The manner that suits searches with a statement; nil where that is not known.
    func manner(of statement: String) -> Manner? {
        guard let entry = entries.withLock({ $0.value(of: statement) }) else { return nil }
        if entry.manner == .plain, entry.notedAt.duration(to: .now) > Self.memoryOfPlain { return nil }
        return entry.manner
    }

    func note(_ manner: Manner, of statement: String) {
        let entry = Entry(manner: manner, notedAt: .now)
        entries.withLock { _ = $0.set(entry, for: statement, weight: statement.utf8.count + 64) }
    }
}
