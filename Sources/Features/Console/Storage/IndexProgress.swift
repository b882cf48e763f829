internal import ParseStorage
internal import Postgres

/// The progress of an index build, as reported by PostgreSQL.
package struct IndexProgress: Sendable, Equatable {
    /// The progress in percent, covering scan, sort and validation.
    package let percent: Int
    /// The current step, as a sentence.
    package let words: String

    /// Derives the progress from PostgreSQL's figures.
    ///
    /// - Parameters:
    ///   - phase: The phase in `pg_stat_progress_create_index`.
    ///   - blocks: Table blocks read so far, and in total.
    ///   - tuples: Rows indexed so far, and in total.
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
        // For access methods other than btree, PostgreSQL reports only the scan.
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

    /// Returns the progress of the current index build on a class, or nil if none is running.
    static func now(of className: String, in store: ObjectStore) async throws -> IndexProgress? {
        let rows = try await store.query(
            """
            SELECT phase, blocks_done, blocks_total, tuples_done, tuples_total FROM pg_stat_progress_create_index
            WHERE relid = to_regclass($1) AND datname = current_database() LIMIT 1
            """, [.text(SQL.identifier(className))])
        guard rows.rowCount > 0, let phase = rows.string(0, 0) else { return nil }
        return IndexProgress(
            phase: phase, blocks: (rows.int(0, 1) ?? 0, rows.int(0, 2) ?? 0),
            tuples: (rows.int(0, 3) ?? 0, rows.int(0, 4) ?? 0))
    }
}
