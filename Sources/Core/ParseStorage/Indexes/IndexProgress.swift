import Postgres

/// How far the building of an index of a class is, as PostgreSQL reports it.
public struct IndexProgress: Sendable, Equatable {
    /// How much is done, in percent: of the first reading of the table, of sorting, and of the second reading.
    public let percent: Int
    /// What is being done.
    public let words: String

    /// Puts what PostgreSQL says in order.
    ///
    /// - Parameters:
    ///   - phase: The name that PostgreSQL gives to what it does.
    ///   - blocks: How much of the table is read, of how much.
    ///   - tuples: How many rows are in the index, of how many.
    package init(phase: String, blocks: (done: Int64, total: Int64), tuples: (done: Int64, total: Int64)) {
        func within(_ range: ClosedRange<Double>, _ part: (done: Int64, total: Int64)) -> Int {
            let share = part.total > 0 ? min(1, max(0, Double(part.done) / Double(part.total))) : 0
            return Int(range.lowerBound + (range.upperBound - range.lowerBound) * share)
        }
        switch phase {
        case "initializing": (percent, words) = (0, "Starting.")
        case "waiting for writers before build": (percent, words) = (1, "Waiting for writes in progress.")
        case _ where phase.hasPrefix("building index: scanning"):
            (percent, words) = (within(2...45, blocks), "Reading objects.")
        case _ where phase.hasPrefix("building index: loading"):
            (percent, words) = (within(50...60, tuples), "Writing the index.")
        case _ where phase.hasPrefix("building index: sorting"): (percent, words) = (48, "Sorting values.")
        // Indexes of other kinds than sorted ones say of reading alone how far it is.
        case _ where phase.hasPrefix("building index"):
            (percent, words) = (within(2...60, blocks), "Building the index.")
        case "waiting for writers before validation": (percent, words) = (62, "Waiting for writes in progress.")
        case "index validation: scanning index": (percent, words) = (64, "Validating the index.")
        case "index validation: sorting tuples": (percent, words) = (66, "Validating the index.")
        case "index validation: scanning table":
            (percent, words) = (within(68...96, blocks), "Adding objects written meanwhile.")
        default: (percent, words) = (98, "Waiting for earlier reads.")
        }
    }
}

extension IndexProgress {
    /// How far the index of a class is that is being built now; nil where none is.
    public static func now(of className: String, in store: ObjectStore) async throws -> IndexProgress? {
        let rows = try await store.query(
            """
            SELECT phase, blocks_done, blocks_total, tuples_done, tuples_total FROM pg_stat_progress_create_index
            WHERE relid = to_regclass($1) AND datname = current_database() LIMIT 1
            """, [.text(SQLBuilder.quote(className))])
        guard rows.rowCount > 0, let phase = rows.string(0, 0) else { return nil }
        return IndexProgress(
            phase: phase, blocks: (rows.int(0, 1) ?? 0, rows.int(0, 2) ?? 0),
            tuples: (rows.int(0, 3) ?? 0, rows.int(0, 4) ?? 0))
    }
}
