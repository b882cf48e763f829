import Postgres
import Tasks

/// Measures a statement, and notes for the log, and for advice on indexes, which one took long.
struct StatementClock {
    private let sql: String?
    private let notes: FindNotes?
    private let start = ContinuousClock.now

    /// From how long on it is noted which statement it was.
    private static let notable = Duration.milliseconds(20)

    /// Begins to measure.
    ///
    /// - Parameter sql: The statement; nil where there is none.
    init(_ sql: String?, _ notes: FindNotes?) {
        self.sql = sql
        self.notes = notes
    }

    /// Notes that it ended.
    ///
    /// - Parameter error: What it threw; nil for a success.
    func stop(_ error: (any Error)? = nil) {
        let duration = ContinuousClock.now - start
        guard let sql, duration >= Self.notable else { return }
        CallerPresence.current?.note(slowStatement: sql)
        notes?.note(sql, took: duration, isTimeout: (error as? PostgresError)?.sqlState == "57014")
    }
}
