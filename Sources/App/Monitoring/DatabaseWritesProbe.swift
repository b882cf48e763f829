import ParseStorage
import Telemetry

/// Reports whether the last write to the database failed because PostgreSQL lacked resources, such as disk space, or
/// its disk failed. The probe itself writes nothing.
struct DatabaseWritesProbe: ReadinessProbe {
    let probeName = "databaseWrites"
    /// False, because reads may still work.
    let isNeeded = false
    let trouble: DatabaseTrouble

    func probe() async throws -> [(name: String, value: Double)] {
        if let failure = trouble.lastFailure { throw Readiness.Shortfall(failure, figures: []) }
        return []
    }
}
